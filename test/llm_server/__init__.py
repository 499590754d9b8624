"""A local server that speaks the APIs of language models and says what a test scripts.

    llm_server.script(thinking('a look first', then=call('look', {})), cut(say('It is red.')))

Each turn is a value that knows nothing of an API; the server puts it into the format of the
request: Anthropic's Messages, OpenAI's Responses, or OpenAI's Chat Completions, streamed or not.
A request that breaks a documented rule of its API is refused in the vendor's words and remembered.
"""

from test.llm_server.server import LlmHost, LlmServer
from test.llm_server.vocabulary import (
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

__all__ = [
    'LlmHost',
    'LlmServer',
    'call',
    'calls',
    'context_too_long',
    'cut',
    'failing',
    'garbage',
    'malformed',
    'max_tokens',
    'refusal',
    'refuse_images',
    'say',
    'slow',
    'stall',
    'status',
    'thinking',
    'usage',
]
