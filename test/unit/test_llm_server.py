"""The local server of language models, as the vendors' own libraries see it: what it answers."""

import dataclasses
import json
import re
import threading
import time

import anthropic
import httpx2
import openai
import pydantic
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from test.llm_server import (
    LlmServer,
    call,
    calls,
    context_too_long,
    cut,
    failing,
    garbage,
    malformed,
    max_tokens,
    refusal,
    refuse_images,
    say,
    slow,
    stall,
    status,
    thinking,
    usage,
)

APIS = ('anthropic', 'openai', 'openai-chat')
PATHS = {
    'anthropic': '/v1/messages', 'openai': '/v1/responses', 'openai-chat': '/v1/chat/completions',
}  # fmt: skip
BODIES = {
    'anthropic': {
        'model': 'claude', 'max_tokens': 100, 'messages': [{'role': 'user', 'content': 'hello'}],
    },
    'openai': {'model': 'gpt', 'input': 'hello', 'include': ['reasoning.encrypted_content']},
    'openai-chat': {'model': 'gpt', 'messages': [{'role': 'user', 'content': 'hello'}]},
}  # fmt: skip
STREAM_OPTIONS = {'openai-chat': {'stream_options': {'include_usage': True}}}
every_api = pytest.mark.parametrize('api', APIS)
streamed_or_not = pytest.mark.parametrize('stream', [False, True], ids=['whole', 'streamed'])


@dataclasses.dataclass
class Heard:
    """An answer, whatever its format: [thoughts, text, refusal], calls, why it ended, tokens."""

    thought: str = ''
    text: str = ''
    refused: str = ''
    calls: list = dataclasses.field(default_factory=list)
    stop: str = ''
    # Read without a cache, from it, into it, and written.
    tokens: tuple = ()


@pytest.fixture(scope='module')
def clients(llm_host):
    """The vendors' libraries, which try nothing twice."""
    given = {'api_key': LlmServer.key, 'max_retries': 0, 'timeout': 5}
    with (
        anthropic.Anthropic(base_url=llm_host.url, **given) as theirs,
        openai.OpenAI(base_url=f'{llm_host.url}/v1', **given) as other,
    ):
        yield {'anthropic': theirs, 'openai': other, 'openai-chat': other}


@pytest.fixture
def ask(clients):
    """Asks with a vendor's library; returns what was heard."""

    def go(api, *, stream=False, client=None, **more):
        client, body = client or clients[api], BODIES[api] | more
        if stream:
            body = {**body, **STREAM_OPTIONS.get(api, {}), 'stream': True}
        create = {
            'anthropic': lambda: client.messages.create,
            'openai': lambda: client.responses.create,
            'openai-chat': lambda: client.chat.completions.create,
        }[api]()
        answer = create(**body)
        return (HEAR_STREAM if stream else HEAR)[api](answer)

    return go


def hear_message(message):
    heard = Heard(stop=message.stop_reason)
    for block in message.content:
        if block.type == 'thinking':
            assert block.signature
            heard.thought += block.thinking
        elif block.type == 'text':
            heard.text += block.text
        else:
            heard.calls.append((block.name, json.dumps(block.input)))
    if message.stop_details is not None:
        heard.refused = message.stop_details.explanation
    used = message.usage
    heard.tokens = (
        used.input_tokens, used.cache_read_input_tokens, used.cache_creation_input_tokens,
        used.output_tokens,
    )  # fmt: skip
    return heard


def hear_message_stream(stream):
    """Put together by hand, for the arguments of a call need not be JSON."""
    heard, names, arguments = Heard(), {}, {}
    events = list(stream)
    assert (events[0].type, events[-1].type) == ('message_start', 'message_stop')
    for event in events:
        if event.type == 'content_block_start' and event.content_block.type == 'tool_use':
            names[event.index], arguments[event.index] = event.content_block.name, ''
        elif event.type == 'content_block_delta':
            delta = event.delta
            if delta.type == 'thinking_delta':
                heard.thought += delta.thinking
            elif delta.type == 'text_delta':
                heard.text += delta.text
            elif delta.type == 'input_json_delta':
                arguments[event.index] += delta.partial_json
        elif event.type == 'message_delta':
            heard.stop = event.delta.stop_reason
            if event.delta.stop_details is not None:
                heard.refused = event.delta.stop_details.explanation
    heard.calls = [(name, arguments[index]) for index, name in names.items()]
    begun = events[0].message.usage
    heard.tokens = (
        begun.input_tokens, begun.cache_read_input_tokens, begun.cache_creation_input_tokens,
        next(e for e in events if e.type == 'message_delta').usage.output_tokens,
    )  # fmt: skip
    return heard


def hear_response(response):
    why = response.incomplete_details
    heard = Heard(stop=why.reason if why else response.status)
    for item in response.output:
        if item.type == 'reasoning':
            assert item.encrypted_content
            heard.thought += ''.join(part.text for part in item.summary)
        elif item.type == 'message':
            for part in item.content:
                if part.type == 'refusal':
                    heard.refused += part.refusal
                else:
                    heard.text += part.text
        else:
            heard.calls.append((item.name, item.arguments))
    details = response.usage.input_tokens_details
    cached, written = details.cached_tokens, details.cache_write_tokens
    heard.tokens = (
        response.usage.input_tokens - cached - written, cached, written,
        response.usage.output_tokens,
    )  # fmt: skip
    return heard


def hear_response_stream(stream):
    heard, events = Heard(), list(stream)
    assert [e.sequence_number for e in events] == list(range(len(events)))
    for event in events:
        if event.type == 'response.reasoning_summary_text.delta':
            heard.thought += event.delta
        elif event.type == 'response.output_text.delta':
            heard.text += event.delta
        elif event.type == 'response.refusal.delta':
            heard.refused += event.delta
        elif event.type == 'response.output_item.added' and event.item.type == 'function_call':
            heard.calls.append((event.item.name, event.item.arguments))
        elif event.type == 'response.function_call_arguments.delta':
            name, arguments = heard.calls[-1]
            heard.calls[-1] = (name, arguments + event.delta)
    # The last event brings it all again.
    assert hear_response(events[-1].response) == dataclasses.replace(
        heard,
        stop=hear_response(events[-1].response).stop,
        tokens=hear_response(events[-1].response).tokens,
    )
    return hear_response(events[-1].response)


def hear_completion(completion):
    [choice] = completion.choices
    message, used = choice.message, completion.usage
    return Heard(
        thought=getattr(message, 'reasoning_content', ''),
        text=message.content or '',
        refused=message.refusal or '',
        calls=[(c.function.name, c.function.arguments) for c in message.tool_calls or []],
        stop=choice.finish_reason,
        tokens=tokens_of_chat(used),
    )


def hear_completion_stream(stream):
    heard, chunks = Heard(), list(stream)
    for chunk in chunks[:-1]:
        delta = chunk.choices[0].delta
        heard.thought += getattr(delta, 'reasoning_content', '')
        heard.text += delta.content or ''
        heard.refused += delta.refusal or ''
        for part in delta.tool_calls or []:
            if part.id:
                heard.calls.append((part.function.name, ''))
            name, arguments = heard.calls[part.index]
            heard.calls[part.index] = (name, arguments + part.function.arguments)
    heard.stop = chunks[-2].choices[0].finish_reason
    heard.tokens = tokens_of_chat(chunks[-1].usage)
    return heard


def tokens_of_chat(used):
    details = used.prompt_tokens_details
    cached, written = details.cached_tokens, details.cache_write_tokens or 0
    return (used.prompt_tokens - cached - written, cached, written, used.completion_tokens)


HEAR = {'anthropic': hear_message, 'openai': hear_response, 'openai-chat': hear_completion}
HEAR_STREAM = {
    'anthropic': hear_message_stream,
    'openai': hear_response_stream,
    'openai-chat': hear_completion_stream,
}
# What the three call the same thing.
STOPS = {
    'done': ('end_turn', 'completed', 'stop'),
    'called': ('tool_use', 'completed', 'tool_calls'),
    'length': ('max_tokens', 'max_output_tokens', 'length'),
    'refused': ('refusal', 'completed', 'stop'),
}
USED = usage(100, 20, cache_read=300, cache_write=50)
TURNS = {
    'words': (say('Grüße, robot', usage=USED), 'done', {'text': 'Grüße, robot'}),
    'call': (
        call('look', {'at': [1, 2]}, text='Let me look.', usage=USED),
        'called',
        {'text': 'Let me look.', 'calls': [('look', '{"at": [1, 2]}')]},
    ),
    'calls': (
        calls(call('look', {}), call('go', {'to': 'é'}), usage=USED),
        'called',
        {'calls': [('look', '{}'), ('go', '{"to": "\\u00e9"}')]},
    ),
    'thoughts': (
        thinking('hm, first', then=call('look', {}, usage=USED)),
        'called',
        {'thought': 'hm, first', 'calls': [('look', '{}')]},
    ),
    'too long': (max_tokens(say('on and on.', usage=USED)), 'length', {'text': 'on an'}),
    'a call cut off': (
        max_tokens(calls(call('look', {}), call('go', {'to': 'a place'}), usage=USED)),
        'length',
        {'calls': [('look', '{}'), ('go', '{"to": "')]},
    ),
    'a call with bad JSON': (
        dataclasses.replace(malformed('go', '{"to": [1,'), usage=USED),
        'called',
        {'calls': [('go', '{"to": [1,')]},
    ),
    'endless thought': (
        dataclasses.replace(thinking('and '), usage=USED), 'length', {'thought': 'and '},
    ),
    'refusal': (
        dataclasses.replace(refusal('Not that.'), usage=USED), 'refused', {'refused': 'Not that.'},
    ),
}  # fmt: skip


@every_api
@streamed_or_not
@pytest.mark.parametrize('name', list(TURNS))
def test_answers(ask, llm_server, api, stream, name):
    turn, stop, said = TURNS[name]
    llm_server.script(turn)
    expected = Heard(
        stop=STOPS[stop][APIS.index(api)], tokens=(100, 300, 50, 20), **said
    )  # fmt: skip
    if api == 'anthropic' and not stream:
        # Its whole answers hold objects, and what is no JSON cannot be one.
        expected.calls = [
            (tool, arguments if arguments.endswith('}') else '{}')
            for tool, arguments in [(t, a.replace('\\u00e9', 'é')) for t, a in expected.calls]
        ]
        expected.calls = [(t, json.dumps(json.loads(a))) for t, a in expected.calls]
    assert ask(api, stream=stream) == expected
    assert not llm_server.aborted


@every_api
@pytest.mark.parametrize('name', list(TURNS))
def test_answers_are_what_the_libraries_declare(llm_server, api, name):
    """Strictly: the libraries themselves take nearly anything."""
    turn, _, _ = TURNS[name]
    llm_server.script(turn, turn)
    whole = {'anthropic': Message, 'openai': Response, 'openai-chat': ChatCompletion}[api]
    event = {
        'anthropic': RawMessageStreamEvent,
        'openai': ResponseStreamEvent,
        'openai-chat': ChatCompletionChunk,
    }[api]
    whole.model_validate(post(llm_server, api).json())
    checker = pydantic.TypeAdapter(event)
    sent = events(post(llm_server, api, stream=True))
    assert len(sent) >= 3
    for data in sent:
        checker.validate_python(data)


def post(server, api, **more):
    headers = {'authorization': f'Bearer {server.key}', 'anthropic-version': '2023-06-01'}
    return httpx2.post(server.url + PATHS[api], json=BODIES[api] | more, headers=headers)


def events(response):
    """The data of all events, but for pings and the end."""
    lines = [line for line in response.text.splitlines() if line.startswith('data: {')]
    datas = [json.loads(line.removeprefix('data: ')) for line in lines]
    return [data for data in datas if data.get('type') != 'ping']


def error_of(error):
    """Status and words of an error that a library raised."""
    body = error.body
    return error.status_code, body.get('error', body)['message']


@every_api
@streamed_or_not
@pytest.mark.parametrize('code', [400, 404, 429, 529])
def test_statuses(ask, llm_server, api, stream, code):
    llm_server.script(status(code, message='as I say', retry_after=7))
    with pytest.raises((anthropic.APIStatusError, openai.APIStatusError)) as caught:
        ask(api, stream=stream)
    assert error_of(caught.value) == (code, 'as I say')
    assert caught.value.response.headers['retry-after'] == '7'


@pytest.mark.parametrize(
    ('turn', 'words'),
    [
        (
            context_too_long(),
            [
                'prompt is too long: 213462 tokens > 200000 maximum',
                'Your input exceeds the context window of this model. Please adjust your input '
                'and try again.',
                "This model's maximum context length is 128000 tokens. However, your messages "
                'resulted in 140000 tokens. Please reduce the length of the messages.',
            ],
        ),
        (
            refuse_images(),
            [
                "'claude' does not support image input.",
                *['Invalid content type. image_url is only supported by certain models.'] * 2,
            ],
        ),
    ],
    ids=['context', 'pictures'],
)
@every_api
def test_refused_in_the_vendors_words(ask, llm_server, api, turn, words):
    llm_server.script(turn)
    with pytest.raises((anthropic.BadRequestError, openai.BadRequestError)) as caught:
        ask(api)
    assert error_of(caught.value) == (400, words[APIS.index(api)])
    if api != 'anthropic' and turn == context_too_long():
        assert caught.value.code == 'context_length_exceeded'


@pytest.mark.parametrize(
    ('turn', 'kind'),
    [
        (status(400), 'invalid_request_error'),
        (status(403), 'permission_error'),
        (status(429), 'rate_limit_error'),
        (status(500), 'api_error'),
        (status(529), 'overloaded_error'),
    ],
)
def test_anthropics_names_of_errors(ask, llm_server, turn, kind):
    llm_server.script(turn)
    with pytest.raises(anthropic.APIStatusError) as caught:
        ask('anthropic')
    assert caught.value.body['error']['type'] == kind


@every_api
def test_the_script_ends(ask, llm_server, api):
    llm_server.script(say('hi'))
    ask(api)
    with pytest.raises((anthropic.InternalServerError, openai.InternalServerError)) as caught:
        ask(api)
    assert error_of(caught.value) == (
        500, 'the script has ended: this is request 2, and no turn is left',
    )  # fmt: skip
    assert caught.value.response.headers['x-should-retry'] == 'false'


@every_api
@streamed_or_not
@pytest.mark.parametrize('after', [0.0, 0.3, 0.95])
def test_a_connection_that_is_lost(ask, llm_server, api, stream, after):
    llm_server.script(cut(say('hello there'), after=after))
    lost = (anthropic.APIConnectionError, openai.APIConnectionError, httpx2.RemoteProtocolError)
    with pytest.raises(lost):
        ask(api, stream=stream)
    # It was the server that left.
    assert not llm_server.aborted


@pytest.mark.parametrize('after', [0.0, 0.5, 1.0])
@every_api
def test_how_much_of_an_answer_comes(llm_server, api, after):
    """To the byte, and in good order when it is closed as if it were whole."""
    llm_server.script(say('hello there'), cut(say('hello there'), after=after, clean=True))
    # Ids and times differ, but are equally long.
    whole, part = (
        re.sub(rb'\d', b'0', post(llm_server, api, stream=True).content) for _ in range(2)
    )
    assert part == whole[: round(after * len(whole))]


@pytest.mark.parametrize('api', ['anthropic', 'openai-chat'])
@pytest.mark.parametrize('after', [0.0, 0.5])
def test_an_error_within_a_stream(ask, llm_server, api, after):
    llm_server.script(failing(say('hello there'), 529, after=after))
    with pytest.raises((anthropic.APIError, openai.APIError)) as caught:
        ask(api, stream=True)
    body = caught.value.body
    assert body.get('error', body)['message'] == 'Overloaded'


def test_an_error_within_a_stream_of_responses(clients, llm_server):
    """Here the library hands on what the stream says."""
    turn = say('hello there')
    llm_server.script(failing(turn, 529, after=0.0), failing(turn, 429, after=0.5))

    def hear():
        return list(clients['openai'].responses.create(**BODIES['openai'], stream=True))

    [error] = hear()
    assert (error.type, error.code, error.message) == ('error', 'server_error', 'Overloaded')
    *before, failed = hear()
    assert [e.type for e in before[:2]] == ['response.created', 'response.in_progress']
    assert (failed.type, failed.response.status) == ('response.failed', 'failed')
    assert failed.response.error.code == 'rate_limit_exceeded'


@every_api
def test_without_a_stream_it_is_a_status(ask, llm_server, api):
    llm_server.script(failing(say('hello there'), 429))
    with pytest.raises((anthropic.RateLimitError, openai.RateLimitError)):
        ask(api)


@every_api
@streamed_or_not
def test_slow_answers(ask, llm_server, api, stream):
    llm_server.script(slow(say('hello'), 0.2))
    begun = time.monotonic()
    assert ask(api, stream=stream).text == 'hello'
    assert time.monotonic() - begun >= 0.2
    assert not llm_server.aborted


@every_api
@streamed_or_not
@pytest.mark.parametrize('after', [0.0, 0.5])
def test_silence_within_an_answer(ask, llm_server, api, stream, after):
    llm_server.script(stall(0.2, say('hello'), after=after))
    begun = time.monotonic()
    assert ask(api, stream=stream).text == 'hello'
    assert time.monotonic() - begun >= 0.2


@every_api
def test_silence_without_an_answer(ask, llm_server, api):
    llm_server.script(stall(0.2))
    with pytest.raises((anthropic.APIConnectionError, openai.APIConnectionError)):
        ask(api)
    assert not llm_server.aborted


@every_api
@streamed_or_not
@pytest.mark.parametrize('turn', [stall(30), slow(say('hi'), 30)], ids=['stall', 'slow'])
def test_a_client_that_goes_away_is_noticed(clients, ask, llm_server, api, stream, turn):
    llm_server.script(turn)
    hasty = clients[api].with_options(timeout=0.1)
    with pytest.raises((
        anthropic.APITimeoutError, openai.APITimeoutError, httpx2.TimeoutException,
    )):  # fmt: skip
        ask(api, stream=stream, client=hasty)
    deadline = time.monotonic() + 5
    while not llm_server.aborted and time.monotonic() < deadline:
        time.sleep(0.01)
    assert llm_server.aborted


def test_what_a_test_left_behind_is_not_the_next_ones(llm_host):
    first = llm_host.new_server()
    first.script(slow(say('late'), 0.3))
    asking = threading.Thread(target=post, args=(first, 'anthropic'))
    asking.start()
    while not first.requests:
        time.sleep(0.005)
    second = llm_host.new_server()
    asking.join()
    assert (len(first.requests), second.requests, second.aborted) == (1, [], False)


@every_api
def test_garbage(llm_server, api):
    llm_server.script(garbage(), garbage('data: {', 'text/event-stream'))
    page = post(llm_server, api, stream=True)
    assert (page.status_code, page.headers['content-type']) == (200, 'text/html; charset=utf-8')
    assert page.text.startswith('<html>')
    assert post(llm_server, api, stream=True).text == 'data: {'


@every_api
@pytest.mark.parametrize('header', ['authorization', 'x-api-key'])
def test_keys(llm_server, api, header):
    llm_server.script(say('hi'))
    prefix = 'Bearer ' if header == 'authorization' else ''

    def ask(key):
        return httpx2.post(
            llm_server.url + PATHS[api], json=BODIES[api],
            headers={header: prefix + key, 'anthropic-version': '2023-06-01'},
        )  # fmt: skip

    assert llm_server.key.startswith('sk-')
    assert ask(llm_server.key).status_code == 200
    refused = ask('sk-of-somebody-else')
    assert refused.status_code == 401
    error = refused.json()['error']
    if api == 'anthropic':
        assert error == {'type': 'authentication_error', 'message': 'invalid x-api-key'}
    else:
        assert error == {
            'message': 'Incorrect API key provided: sk-of-so*******else. You can find your API '
            'key at https://platform.openai.com/account/api-keys.',
            'type': 'invalid_request_error', 'param': None, 'code': 'invalid_api_key',
        }  # fmt: skip
    assert len(llm_server.requests) == 1


@every_api
def test_no_key(llm_server, api):
    answer = httpx2.post(llm_server.url + PATHS[api], json=BODIES[api])
    assert answer.status_code == 401
    needed = 'x-api-key header is required' if api == 'anthropic' else "You didn't provide an API"
    assert answer.json()['error']['message'].startswith(needed)


@every_api
def test_models_that_do_not_exist(ask, llm_server, api):
    llm_server.script(say('hi'))
    with pytest.raises((anthropic.NotFoundError, openai.NotFoundError)) as caught:
        ask(api, model='no-such-model-1')
    assert error_of(caught.value) == (
        404,
        'model: no-such-model-1' if api == 'anthropic' else
        'The model `no-such-model-1` does not exist or you do not have access to it.',
    )  # fmt: skip
    assert llm_server.requests == []


def test_lists_of_models(clients, llm_server):
    assert [m.id for m in clients['anthropic'].models.list()] == ['claude-opus-4-8']
    assert [m.id for m in clients['openai'].models.list()] == ['gpt-5.5']
    assert httpx2.get(f'{llm_server.url}/v1/models').status_code == 401


def test_tokens_are_counted(clients, llm_server):
    body = {key: BODIES['anthropic'][key] for key in ('model', 'messages')}
    count = clients['anthropic'].messages.count_tokens(**body).input_tokens
    assert 10 < count < 100
    assert llm_server.requests == []


@pytest.mark.parametrize('path', ['/', '/elsewhere/v1/messages', '/v1/v1/responses'])
def test_other_paths(llm_server, path):
    answer = httpx2.post(llm_server.url + path, json={})
    assert (answer.status_code, answer.text) == (404, 'Not Found')
    assert answer.headers['content-type'].startswith('text/plain')
