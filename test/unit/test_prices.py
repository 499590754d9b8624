"""What answers of language models cost."""

import datetime

import pytest
from genai_prices import data

from rpent_ros.errors import InvalidRequest
from rpent_ros.prices import Prices, known_prices, plain_name
from rpent_ros.usage import Usage, UsageTotals

MILLION = 1_000_000


def test_each_kind_of_token_has_its_price():
    usage = Usage(
        'claude-opus-4-8', input_tokens=MILLION, cache_read_tokens=2 * MILLION,
        cache_write_tokens=4 * MILLION, output_tokens=8 * MILLION,
    )  # fmt: skip
    assert known_prices().of(usage) == pytest.approx(5 + 2 * 0.5 + 4 * 6.25 + 8 * 25)


def test_a_cache_without_a_price_costs_what_reading_costs():
    usage = Usage('gpt-4.1', cache_write_tokens=MILLION)
    assert known_prices().of(usage) == pytest.approx(2.0)


@pytest.mark.parametrize(('read', 'price'), [(272_000, 5.0), (272_001, 10.0)])
def test_long_requests_cost_more(read, price):
    usage = Usage('gpt-5.5', input_tokens=read)
    assert known_prices().of(usage) == pytest.approx(read * price / MILLION)


@pytest.mark.parametrize(
    'name',
    [
        'claude-haiku-4-5', 'claude-haiku-4-5-20251001', 'anthropic:claude-haiku-4-5',
        'us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5@20251001',
        'claude-haiku-4-5[1m]', 'anthropic/claude-haiku-4-5-latest',
    ],
)  # fmt: skip
def test_names_of_the_same_model(name):
    assert plain_name(name) == 'claude-haiku-4-5'


def test_an_unknown_model_has_no_price():
    assert known_prices().of(Usage('local-model', input_tokens=5)) is None
    assert known_prices().of(Usage('gpt-5.5-pro', input_tokens=5)) is None


def test_the_table_agrees_with_the_package_that_follows_the_vendors():
    now = datetime.datetime.now(datetime.timezone.utc)
    vendors = {
        model.id: model.get_prices(now)
        for provider in data.providers if provider.id in ('anthropic', 'openai')
        for model in provider.models
    }  # fmt: skip
    assert len(known_prices().by_model) > 30
    for name, prices in known_prices().by_model.items():
        for kind, ours in [*prices.items(), *prices.get('long', {}).items()]:
            if kind in ('long', 'above'):
                continue
            theirs = getattr(vendors[name], f'{kind}_mtok')
            known = [theirs]
            if hasattr(theirs, 'base'):
                known = [theirs.base, *(tier.price for tier in theirs.tiers)]
            assert ours in [float(value) for value in known], (name, kind)
        if 'long' in prices:
            assert prices['long']['above'] == vendors[name].input_mtok.tiers[0].start


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('[]', 'expected models with their prices, got TypeError'),
        ('models: {a: 3}', 'a: expected prices, got 3'),
        ('models: {a: {input: 1}}', 'a: expected a price for output'),
        ('models: {a: {input: 1, output: -2}}', 'got output: -2'),
        ('models: {a: {input: 1, output: 2, inptu: 3}}', 'got inptu: 3'),
        ('models: {a: {input: 1, output: 2, long: {input: 1, output: 2}}}',
         'a, long: expected a price for above'),
    ],
)  # fmt: skip
def test_bad_price_files(tmp_path, text, said):
    path = tmp_path / 'prices.yaml'
    path.write_text(text)
    with pytest.raises(InvalidRequest, match='price file') as error:
        Prices.load(path)
    assert said in str(error.value)


def test_totals():
    totals = UsageTotals()
    assert totals.to_json() == {}
    totals.add(Usage('a', input_tokens=1, output_tokens=2, usd=0.5))
    totals.add(Usage('b', cache_read_tokens=4, cache_write_tokens=8, requests=2))
    assert totals.to_json() == {
        'models': ['a', 'b'], 'requests': 3, 'input_tokens': 1, 'cache_read_tokens': 4,
        'cache_write_tokens': 8, 'output_tokens': 2, 'tokens': 15, 'usd': 0.5,
        'unpriced_models': ['b'],
    }  # fmt: skip


def test_negative_usage_is_refused():
    with pytest.raises(InvalidRequest, match='output_tokens: expected 0 or above, got -1'):
        Usage('a', output_tokens=-1)
