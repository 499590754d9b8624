"""`rpent check-llm`: ask a language model to use a tool and to look at a picture."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence

from rpent_ros import exit_codes
from rpent_ros.cerebrums.api import check_ready
from rpent_ros.cerebrums.api.ids import DEFAULT_MODEL, Endpoint, find_endpoint
from rpent_ros.cerebrums.options import EFFORTS, LlmOptions
from rpent_ros.cli.arguments import Parser
from rpent_ros.cli.doctor import Finding, hint, ok, problem
from rpent_ros.errors import InvalidRequest, RpentError
from rpent_ros.usage import UsageTotals

FAILED = 1
# A test shall not wait as long as a run does.
_MAX_RETRIES = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Ask, and print a line about each thing found; returns 0 if the model can drive a robot."""
    options = parser().parse_args(argv)
    try:
        llm = LlmOptions(
            options.model,
            base_url=options.base_url,
            effort=options.effort,
            max_retries=_MAX_RETRIES,
        )
    except InvalidRequest as error:
        print(f'rpent check-llm: {error}', file=sys.stderr)
        return exit_codes.USAGE
    failed = False
    for finding in findings(llm, text_only=options.text_only):
        print(finding.line(), flush=True)
        failed = failed or finding.status == 'problem'
    return FAILED if failed else exit_codes.ACHIEVED


def parser() -> Parser:
    """The options of `rpent check-llm`."""
    out = Parser(
        prog='rpent check-llm',
        description='Ask a language model to use a tool and to look at a picture, as a run with '
        '--cerebrum api does.  Two short answers are paid for.',
        allow_abbrev=False,
    )
    add = out.add_argument
    add('--model', default='', metavar='NAME', help=f'PROVIDER:NAME (default: {DEFAULT_MODEL})')
    add('--base-url', default='', metavar='URL', help="the provider (default: the vendor's)")
    efforts = ', '.join(EFFORTS[1:])
    add('--effort', default='', metavar='WORD', help=f'how much it thinks: {efforts}')
    add('--text-only', action='store_true', help='show it no picture')
    return out


def findings(llm: LlmOptions, *, text_only: bool) -> Iterator[Finding]:
    """What was found out, in order; the last one is a problem if the model cannot do something."""
    stage = 'model'
    try:
        endpoint = find_endpoint(llm)
        check_ready(llm)
        yield ok('model', f'{endpoint.name} at {endpoint.url}, {_key(endpoint)}')
        # The vendors' libraries take a second to import.
        from rpent_ros.cerebrums.api.probe import Probe

        number, colour = something_to_see()
        probe = Probe(endpoint, llm, text_only=text_only, number=number, colour=colour, warn=_warn)
        stage = 'tools'
        for step in probe.run():
            yield ok(step.name, step.found)
            stage = 'results' if text_only else 'pictures'
    except RpentError as error:
        yield problem(stage, f'{error.code.name}: {error}', '')
        return
    yield _cost(probe.totals)


def something_to_see() -> tuple[int, str]:
    """A number and a colour that no model can know beforehand."""
    from rpent_ros.cerebrums.api.probe import COLOURS

    return random.randint(10, 99), random.choice(COLOURS)


def _key(endpoint: Endpoint) -> str:
    if endpoint.keyless:
        return 'without a key'
    return f'key from {endpoint.provider.key_variable}'


def _cost(totals: UsageTotals) -> Finding:
    counts = totals.to_json()
    spent = f'{totals.requests} answers, {totals.tokens} tokens'
    if not counts:
        return hint('cost', 'the provider reports no tokens', 'max_tokens and max_usd cannot hold')
    if totals.unpriced:
        cure = 'add it to config/prices.yaml, or max_usd cannot hold'
        return hint('cost', f'{spent}, no price for {", ".join(totals.unpriced)}', cure)
    return ok('cost', f'{spent}, {totals.usd:.4f} USD')


def _warn(text: str) -> None:
    print(f'warning: {text}', file=sys.stderr, flush=True)


if __name__ == '__main__':
    sys.exit(main())
