"""The local server of language models refuses what the vendors refuse, and remembers it."""

import base64
import copy
import functools
import io

import anthropic
import httpx2
import numpy as np
import openai
import pytest
from PIL import Image

from test.llm_server import LlmServer, call, calls, say, thinking

SCHEMA = {'type': 'object', 'properties': {}}
BAD_REQUEST = (anthropic.BadRequestError, openai.BadRequestError)


@pytest.fixture(scope='module')
def anthropic_client(llm_host):
    given = {'api_key': LlmServer.key, 'max_retries': 0, 'timeout': 10}
    with anthropic.Anthropic(base_url=llm_host.url, **given) as client:
        yield client


@pytest.fixture(scope='module')
def openai_client(llm_host):
    given = {'api_key': LlmServer.key, 'max_retries': 0, 'timeout': 10}
    with openai.OpenAI(base_url=f'{llm_host.url}/v1', **given) as client:
        yield client


@functools.cache
def picture(width=8, height=8, kind='PNG'):
    """In base64."""
    buffer = io.BytesIO()
    Image.new('RGB', (width, height), 'red').save(buffer, kind)
    return base64.b64encode(buffer.getvalue()).decode()


@functools.cache
def heavy_picture():
    """A picture that no format makes small."""
    noise = np.random.default_rng(0).integers(0, 256, (1200, 1200, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, 'PNG')
    return base64.b64encode(buffer.getvalue()).decode()


# Anthropic's Messages.


def tool_use(call='t1'):
    return {'type': 'tool_use', 'id': call, 'name': 'look', 'input': {}}


def tool_result(call='t1', content='seen'):
    return {'type': 'tool_result', 'tool_use_id': call, 'content': content}


def image(data=None, kind='image/png'):
    source = {'type': 'base64', 'media_type': kind, 'data': data or picture()}
    return {'type': 'image', 'source': source}


def user(*blocks):
    return {'role': 'user', 'content': list(blocks)}


def assistant(*blocks):
    return {'role': 'assistant', 'content': list(blocks)}


def tool(name='look', schema=None):
    return {'name': name, 'description': '', 'input_schema': schema or SCHEMA}


TEXT = {'type': 'text', 'text': 'hello'}
MARKED = TEXT | {'cache_control': {'type': 'ephemeral'}}
MESSAGES = {
    'model': 'claude',
    'max_tokens': 2000,
    'tools': [tool()],
    'messages': [
        user(TEXT),
        assistant(TEXT, tool_use()),
        user(tool_result('t1', [TEXT, image()]), TEXT),
    ],
}


def test_a_conversation_in_messages(anthropic_client, llm_server):
    llm_server.script(say('hi'))
    anthropic_client.messages.create(**MESSAGES)
    [request] = llm_server.requests
    assert (request.path, request.tools) == ('/v1/messages', ['look'])
    assert (request.body, request.messages) == (MESSAGES, MESSAGES['messages'])
    assert request.tool_results == ['hello']
    assert [(i.size, i.format) for i in request.images] == [((8, 8), 'PNG')]
    sent = anthropic_client.default_headers
    assert request.headers['anthropic-version'] == sent['anthropic-version']


@pytest.mark.parametrize(
    'changes',
    [
        {'messages': [user(TEXT), user(TEXT), assistant(TEXT), assistant(TEXT), user(TEXT)]},
        # What one side says in a row is one turn.
        {'messages': [user(TEXT), assistant(tool_use()), user(tool_result()), user(TEXT)]},
        {'messages': [user(image(picture(8000, 1)))]},
        {'messages': [user(*[image(picture(2000, 1))] * 21)]},
        {'messages': [user(image(picture(8, 8, 'JPEG'), 'image/jpeg'))]},
        {'messages': [user(*[MARKED] * 2)], 'system': [MARKED] * 2},
        {'tools': [tool('a' * 128)]},
        {'tools': [{'type': 'web_search_20250305', 'name': 'web_search'}]},
        {'thinking': {'type': 'adaptive'}},
        {'messages': [user(TEXT)], 'thinking': {'type': 'enabled', 'budget_tokens': 1999}},
    ],
)
def test_what_messages_takes(anthropic_client, llm_server, changes):
    llm_server.script(say('hi'))
    anthropic_client.messages.create(**MESSAGES | changes)
    assert len(llm_server.requests) == 1


UNANSWERED = (
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: {}. '
    'Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
)
UNEXPECTED = (
    'messages.{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each '
    '`tool_result` block must have a corresponding `tool_use` block in the previous message.'
)
SOURCE = 'messages.0.content.0.image.source.base64'
MESSAGES_REFUSED = {
    'no message': ({'messages': []}, 'messages: at least one message is required'),
    'first role': (
        {'messages': [assistant(TEXT), user(TEXT)]},
        'messages: first message must use the "user" role',
    ),
    'role': (
        {'messages': [user(TEXT), {'role': 'tool', 'content': 'x'}]},
        "messages.1.role: Input should be 'user' or 'assistant'",
    ),
    'last role': (
        {'messages': [user(TEXT), assistant(TEXT)]},
        'This model does not support assistant message prefill. The conversation must end with a '
        'user message.',
    ),
    'empty message': (
        {'messages': [user()]},
        'messages.0: all messages must have non-empty content except for the optional final '
        'assistant message',
    ),
    'empty text': (
        {'messages': [user({'type': 'text', 'text': ''})]},
        'messages: text content blocks must be non-empty',
    ),
    'call without a result': (
        {'messages': [
            user(TEXT), assistant(tool_use('a'), tool_use('b')), user(tool_result('a')),
        ]},
        UNANSWERED.format('b'),
    ),
    'result too late': (
        {'messages': [
            user(TEXT), assistant(tool_use()), user(TEXT), assistant(TEXT), user(tool_result()),
        ]},
        UNANSWERED.format('t1'),
    ),
    'text before the result': (
        {'messages': [user(TEXT), assistant(tool_use()), user(TEXT, tool_result())]},
        UNANSWERED.format('t1'),
    ),
    'result without a call': (
        {'messages': [user(TEXT), assistant(TEXT), user(tool_result('t9'))]},
        UNEXPECTED.format('2.content.0', 't9'),
    ),
    'result first': ({'messages': [user(tool_result())]}, UNEXPECTED.format('0.content.0', 't1')),
    'two results': (
        {'messages': [user(TEXT), assistant(tool_use()), user(tool_result(), tool_result())]},
        'messages.2: each tool_use must have a single result. Found multiple `tool_result` blocks '
        'with the same id',
    ),
    'id twice': (
        {'messages': [*MESSAGES['messages'], assistant(tool_use()), user(tool_result())]},
        'messages.3: `tool_use` ids must be unique',
    ),
    'arguments': (
        {'messages': [user(TEXT), assistant(tool_use() | {'input': '{'}), user(tool_result())]},
        'messages.1: tool_use.input: Input should be a valid dictionary',
    ),
    'tool name': (
        {'tools': [tool('look here')]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    'long tool name': (
        {'tools': [tool('a' * 129)]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    'tool twice': ({'tools': [tool(), tool()]}, 'tools: Tool names must be unique.'),
    'schema': (
        {'tools': [tool(schema={'type': 'array'})]},
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    'media type': (
        {'messages': [user(image(kind='image/bmp'))]},
        f"{SOURCE}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or "
        "'image/webp'",
    ),
    'base64': (
        {'messages': [user(image('no base64!'))]},
        f'{SOURCE}.data: The image data is not valid base64',
    ),
    'no picture': (
        {'messages': [user(image(base64.b64encode(b'no picture').decode()))]},
        f'{SOURCE}.data: Could not process image',
    ),
    'half a picture': (
        {'messages': [user(image(picture(64, 64)[:120]))]},
        f'{SOURCE}.data: Could not process image',
    ),
    'another kind': (
        {'messages': [user(image(kind='image/jpeg'))]},
        f'{SOURCE}.data: The image was specified using another media type than it appears to be',
    ),
    'wide': (
        {'messages': [user(image(picture(8001, 1)))]},
        f'{SOURCE}.data: At least one of the image dimensions exceed max allowed size: 8000 '
        'pixels',
    ),
    'wide, of many': (
        {'messages': [user(image(picture(1, 2001)), *[image()] * 20)]},
        f'{SOURCE}.data: At least one of the image dimensions exceed max allowed size for '
        'many-image requests: 2000 pixels',
    ),
    'heavy': (
        {'messages': [user(image(heavy_picture()))]},
        f'{SOURCE}: image exceeds 5 MB maximum: {len(heavy_picture())} bytes > 5242880 bytes',
    ),
    'picture of a result': (
        {'messages': [
            user(TEXT), assistant(tool_use()), user(tool_result('t1', [image(kind='image/x')])),
        ]},
        "messages.2.content.0.content.0.image.source.base64.media_type: Input should be "
        "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    'marks': (
        {
            'system': [MARKED],
            'tools': [tool() | {'cache_control': {'type': 'ephemeral'}}],
            'messages': [
                user(MARKED),
                assistant(tool_use()),
                user(tool_result('t1', [MARKED]) | {'cache_control': {'type': 'ephemeral'}}),
            ],
        },
        'A maximum of 4 blocks with cache_control may be provided. Found 5.',
    ),
    'longest answer': (
        {'max_tokens': 0}, 'max_tokens: Input should be greater than or equal to 1',
    ),
    'budget': (
        {'thinking': {'type': 'enabled', 'budget_tokens': 2000}},
        '`max_tokens` must be greater than `thinking.budget_tokens`.',
    ),
    'small budget': (
        {'thinking': {'type': 'enabled', 'budget_tokens': 1023}},
        'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    ),
    'no thought before a call': (
        {'thinking': {'type': 'enabled', 'budget_tokens': 1500}},
        'messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When '
        '`thinking` is enabled, a final `assistant` message must start with a thinking block '
        '(preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', list(MESSAGES_REFUSED))
def test_what_messages_refuses(anthropic_client, llm_server, name):
    changes, sentence = MESSAGES_REFUSED[name]
    with pytest.raises(anthropic.BadRequestError) as caught:
        anthropic_client.messages.create(**MESSAGES | changes)
    assert caught.value.body['error'] == {'type': 'invalid_request_error', 'message': sentence}
    assert llm_server.take_violations() == [f'/v1/messages: {sentence}']
    assert llm_server.requests == []


def test_messages_wants_a_longest_answer(anthropic_client, llm_server):
    body = {key: value for key, value in MESSAGES.items() if key != 'max_tokens'}
    with pytest.raises(anthropic.BadRequestError, match='max_tokens: Field required'):
        anthropic_client.post('/v1/messages', body=body, cast_to=object)
    assert llm_server.take_violations() == ['/v1/messages: max_tokens: Field required']


def test_messages_wants_its_version(llm_server):
    answer = httpx2.post(
        f'{llm_server.url}/v1/messages', json=MESSAGES, headers={'x-api-key': llm_server.key}
    )
    sentence = 'anthropic-version: header is required'
    assert (answer.status_code, answer.json()['error']['message']) == (400, sentence)
    assert llm_server.take_violations() == [f'/v1/messages: {sentence}']


def test_tokens_are_counted_by_the_same_rules(anthropic_client, llm_server):
    with pytest.raises(anthropic.BadRequestError):
        anthropic_client.messages.count_tokens(model='claude', messages=[assistant(TEXT)])
    assert llm_server.take_violations() == [
        '/v1/messages/count_tokens: messages: first message must use the "user" role'
    ]


@pytest.fixture
def thought(anthropic_client, llm_server):
    """Goes on with a conversation in which the model thought and called; changes its blocks."""
    llm_server.script(thinking('hm', then=call('look', {})), say('done'))
    body = MESSAGES | {'messages': [user(TEXT)]}
    answer = anthropic_client.messages.create(**body)
    blocks = [block.to_dict() for block in answer.content]

    def go(change, mode):
        result = user(tool_result(blocks[1]['id']))
        messages = [user(TEXT), assistant(*change(copy.deepcopy(blocks))), result]
        return anthropic_client.messages.create(
            **body | {'messages': messages, 'thinking': mode}
        )  # fmt: skip

    return go


ENABLED = {'type': 'enabled', 'budget_tokens': 1500}
THINKING = pytest.mark.parametrize('mode', [ENABLED, {'type': 'adaptive'}], ids=['on', 'adaptive'])


@THINKING
def test_thoughts_come_back(thought, mode):
    assert thought(lambda blocks: blocks, mode).content[0].text == 'done'


@THINKING
def test_thoughts_may_not_be_left_out(thought, llm_server, mode):
    with pytest.raises(anthropic.BadRequestError, match='must start with a thinking block'):
        thought(lambda blocks: blocks[1:], mode)
    assert len(llm_server.take_violations()) == 1


def test_thoughts_may_be_left_out_where_nobody_thinks(thought):
    assert thought(lambda blocks: blocks[1:], {'type': 'disabled'}).content[0].text == 'done'


@pytest.mark.parametrize('key', ['thinking', 'signature'])
def test_thoughts_may_not_be_changed(thought, llm_server, key):
    def change(blocks):
        blocks[0][key] += 'x'
        return blocks

    sentence = 'messages.1.content.0: Invalid `signature` in `thinking` block'
    with pytest.raises(anthropic.BadRequestError, match=sentence):
        thought(change, ENABLED)
    assert llm_server.take_violations() == [f'/v1/messages: {sentence}']


# OpenAI's two APIs.


def chat_call(*ids):
    made = [
        {'id': i, 'type': 'function', 'function': {'name': 'look', 'arguments': '{}'}} for i in ids
    ]
    return {'role': 'assistant', 'content': None, 'tool_calls': made}


def chat_result(call='c1'):
    return {'role': 'tool', 'tool_call_id': call, 'content': 'seen'}


def chat_image(url):
    return {'role': 'user', 'content': [{'type': 'image_url', 'image_url': {'url': url}}]}


def chat_tool(name='look', schema=None):
    return {'type': 'function', 'function': {'name': name, 'parameters': schema or SCHEMA}}


def item_call(call='c1', **more):
    return {'type': 'function_call', 'call_id': call, 'name': 'look', 'arguments': '{}', **more}


def item_result(call='c1', output='seen'):
    return {'type': 'function_call_output', 'call_id': call, 'output': output}


def item_image(url):
    return {'role': 'user', 'content': [{'type': 'input_image', 'image_url': url}]}


PNG = f'data:image/png;base64,{picture()}'
HELLO = {'role': 'user', 'content': 'hello'}
CHAT = {
    'model': 'gpt',
    'tools': [chat_tool()],
    'messages': [
        {'role': 'system', 'content': 'be kind'}, HELLO, chat_call('c1', 'c2'), chat_result('c2'),
        chat_result('c1'), chat_image(PNG),
    ],
}  # fmt: skip
SHOWN = [{'type': 'input_text', 'text': 'seen'}, {'type': 'input_image', 'image_url': PNG}]
RESPONSES = {
    'model': 'gpt',
    'tools': [{'type': 'function', 'name': 'look', 'parameters': SCHEMA, 'strict': False}],
    'input': [HELLO, item_call(), item_call('c2'), item_result('c2'), item_result('c1', SHOWN)],
}


def test_a_conversation_in_chat(openai_client, llm_server):
    llm_server.script(say('hi'))
    openai_client.chat.completions.create(**CHAT)
    [request] = llm_server.requests
    assert (request.path, request.tools) == ('/v1/chat/completions', ['look'])
    assert (request.body, request.messages) == (CHAT, CHAT['messages'])
    assert request.tool_results == ['seen', 'seen']
    assert [(i.size, i.format) for i in request.images] == [((8, 8), 'PNG')]


def test_a_conversation_in_responses(openai_client, llm_server):
    llm_server.script(say('hi'))
    openai_client.responses.create(**RESPONSES)
    [request] = llm_server.requests
    assert (request.path, request.tools) == ('/v1/responses', ['look'])
    assert (request.body, request.messages) == (RESPONSES, RESPONSES['input'])
    assert request.tool_results == ['seen', 'seen']
    assert [(i.size, i.format) for i in request.images] == [((8, 8), 'PNG')]


BAD_NAME = (
    "Invalid '{0}.name': string does not match pattern. Expected a string that matches the "
    "pattern '^[a-zA-Z0-9_-]+$'.",
    'invalid_value',
)
LONG_NAME = (
    "Invalid '{0}.name': string too long. Expected a string with maximum length 64, but got a "
    'string with length 65 instead.',
    'string_above_max_length',
)
BAD_SCHEMA = (
    "Invalid schema for function 'look': schema must be a JSON Schema of 'type: \"object\"', got "
    "'type: \"array\"'.",
    'invalid_function_parameters',
)
BAD_PICTURES = [
    (
        PNG.replace('image/png', 'image/bmp'),
        'You uploaded an unsupported image. Please make sure your image has of one the following '
        "formats: ['png', 'jpeg', 'gif', 'webp'].",
        'invalid_image_format',
    ),
    ('data:image/png;base64,no!', 'Invalid base64 image_url.', 'invalid_base64_image'),
    ('picture.png', 'Invalid base64 image_url.', 'invalid_base64_image'),
    (
        # A whole number of groups of four.
        PNG[:82],
        'You uploaded an unsupported image. Please make sure your image is valid.',
        'image_parse_error',
    ),
    (
        PNG.replace('image/png', 'image/webp'),
        'The image data does not match the media type of its data URL.',
        'invalid_image_format',
    ),
]
UNANSWERED_CHAT = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {}"
)
STRAY_CHAT = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
CHAT_REFUSED = [
    ({'messages': []}, "Missing required parameter: 'messages'.", None),
    (
        {'messages': [HELLO | {'role': 'robot'}]},
        "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', "
        "'tool', and 'developer'.",
        'invalid_value',
    ),
    ({'tools': [chat_tool('look here')]}, *BAD_NAME),
    ({'tools': [chat_tool('a' * 65)]}, *LONG_NAME),
    ({'tools': [chat_tool(schema={'type': 'array'})]}, *BAD_SCHEMA),
    ({'messages': [HELLO, chat_call('a', 'b'), chat_result('a')]}, UNANSWERED_CHAT, None),
    ({'messages': [HELLO, chat_call('b'), HELLO, chat_result('b')]}, UNANSWERED_CHAT, None),
    ({'messages': [HELLO, chat_result()]}, STRAY_CHAT, None),
    ({'messages': [HELLO, chat_call('a'), chat_result('a'), chat_result('a')]}, STRAY_CHAT, None),
    (
        {'messages': [HELLO, *[chat_call('a'), chat_result('a')] * 2]},
        "Duplicate value for 'tool_call_id' of 'a'",
        None,
    ),
    (
        {'messages': [HELLO, chat_call('a'), {**chat_image(PNG), **chat_result('a')} | {
            'content': chat_image(PNG)['content'],
        }]},
        "Image URLs are only allowed for messages with role 'user', but this message with role "
        "'tool' contains an image URL.",
        'invalid_request_error',
    ),
    *(({'messages': [chat_image(url)]}, words, code) for url, words, code in BAD_PICTURES),
]  # fmt: skip
RESPONSES_REFUSED = [
    ({'input': []}, "Missing required parameter: 'input'.", None),
    (
        {'input': [HELLO | {'role': 'robot'}]},
        "Invalid value: 'robot'. Supported values are: 'assistant', 'system', 'developer', and "
        "'user'.",
        'invalid_value',
    ),
    ({'tools': [RESPONSES['tools'][0] | {'name': 'look here'}]}, *BAD_NAME),
    ({'tools': [RESPONSES['tools'][0] | {'name': 'a' * 65}]}, *LONG_NAME),
    ({'tools': [RESPONSES['tools'][0] | {'parameters': {'type': 'array'}}]}, *BAD_SCHEMA),
    (
        {'input': [HELLO, item_call('a')]},
        'No tool output found for function call a.',
        None,
    ),
    (
        {'input': [HELLO, item_result('a'), item_call('a')]},
        'No tool call found for function call output with call_id a.',
        None,
    ),
    (
        {'input': [HELLO, *[item_call('a'), item_result('a')] * 2]},
        'Duplicate item found with id a. Remove duplicate items from your input and try again.',
        None,
    ),
    (
        {'input': [HELLO, item_call('a', id='fc'), item_call('b', id='fc')]},
        'Duplicate item found with id fc. Remove duplicate items from your input and try again.',
        None,
    ),
    *(({'input': [item_image(url)]}, words, code) for url, words, code in BAD_PICTURES),
    (
        {'input': [item_call(), item_result('c1', [{'type': 'input_image', 'image_url': 'no'}])]},
        'Invalid base64 image_url.',
        'invalid_base64_image',
    ),
]


@pytest.mark.parametrize(('changes', 'sentence', 'code'), CHAT_REFUSED)
def test_what_chat_refuses(openai_client, llm_server, changes, sentence, code):
    # Where the sentence has a gap: the tool's place, and the call without an answer.
    gap = 'tools[0].function' if 'tools' in changes else 'b'
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.chat.completions.create(**CHAT | changes)
    check_refusal(caught.value, llm_server, '/v1/chat/completions', sentence.format(gap), code)


@pytest.mark.parametrize(('changes', 'sentence', 'code'), RESPONSES_REFUSED)
def test_what_responses_refuses(openai_client, llm_server, changes, sentence, code):
    with pytest.raises(openai.BadRequestError) as caught:
        openai_client.responses.create(**RESPONSES | changes)
    check_refusal(caught.value, llm_server, '/v1/responses', sentence.format('tools[0]'), code)


def check_refusal(error, llm_server, path, sentence, code):
    assert (error.body['message'], error.code) == (sentence, code)
    assert error.type == 'invalid_request_error'
    assert llm_server.take_violations() == [f'{path}: {sentence}']
    assert llm_server.requests == []


@pytest.fixture
def reasoned(openai_client, llm_server):
    """Likewise, where the model reasoned and called; changes its items."""
    llm_server.script(thinking('hm', then=call('look', {})), say('done'))
    sealed = {'include': ['reasoning.encrypted_content'], 'store': False}
    answer = openai_client.responses.create(model='gpt', input='hello', **sealed)
    items = [item.to_dict() for item in answer.output]

    def go(change, **more):
        said = [HELLO, *change(copy.deepcopy(items)), item_result(items[1]['call_id'])]
        return openai_client.responses.create(model='gpt', input=said, **sealed | more)

    return go


def test_reasoning_comes_back(reasoned):
    assert reasoned(lambda items: items).output_text == 'done'


def test_reasoning_without_ids_may_be_left_out(reasoned):
    def change(items):
        return [{key: value for key, value in items[1].items() if key != 'id'}]

    assert reasoned(change).output_text == 'done'


def test_reasoning_may_not_be_left_out(reasoned, llm_server):
    with pytest.raises(openai.BadRequestError) as caught:
        reasoned(lambda items: items[1:])
    assert "of type 'function_call' was provided without its required 'reasoning' item" in (
        caught.value.body['message']
    )
    assert len(llm_server.take_violations()) == 1


def test_reasoning_is_not_kept_by_the_vendor(reasoned, llm_server):
    def change(items):
        del items[0]['encrypted_content']
        return items

    with pytest.raises(openai.NotFoundError) as caught:
        reasoned(change)
    assert 'Items are not persisted when `store` is set to false.' in caught.value.body['message']
    assert len(llm_server.take_violations()) == 1


def test_reasoning_that_is_stored_needs_no_seal(reasoned):
    def change(items):
        del items[0]['encrypted_content']
        return items

    assert reasoned(change, store=True).output_text == 'done'


def test_reasoning_may_not_be_changed(reasoned, llm_server):
    def change(items):
        items[0]['encrypted_content'] += 'x'
        return items

    with pytest.raises(openai.BadRequestError) as caught:
        reasoned(change)
    assert caught.value.code == 'invalid_encrypted_content'
    assert len(llm_server.take_violations()) == 1


def test_reasoning_needs_what_it_led_to(reasoned, llm_server):
    with pytest.raises(openai.BadRequestError) as caught:
        reasoned(lambda items: [items[0], HELLO, items[1]])
    assert 'was provided without its required following item.' in caught.value.body['message']
    assert len(llm_server.take_violations()) == 1


@pytest.mark.parametrize('path', ['/v1/messages', '/v1/responses', '/v1/chat/completions'])
@pytest.mark.parametrize('content', [b'no JSON', b'[]', b'{}', b'{"model": 1}'])
def test_what_is_no_request_at_all(llm_server, path, content):
    headers = {'x-api-key': llm_server.key, 'anthropic-version': '2023-06-01'}
    answer = httpx2.post(llm_server.url + path, content=content, headers=headers)
    assert answer.status_code == 400
    [violation] = llm_server.take_violations()
    assert violation == f'{path}: {answer.json()["error"]["message"]}'
    assert 'Invalid request: ' in violation


def test_ids_are_unique(openai_client, llm_server):
    llm_server.script(*[calls(call('look', {}), call('look', {}))] * 2)
    answers = [openai_client.chat.completions.create(**CHAT) for _ in range(2)]
    ids = [c.id for answer in answers for c in answer.choices[0].message.tool_calls]
    assert len({answer.id for answer in answers}) == 2
    assert len(set(ids)) == 4
