"""What went wrong between us and a provider, in one sentence, and whether it may pass."""

from __future__ import annotations

import dataclasses
import http
import re
from typing import Any

from pydantic_ai import exceptions as pai

from rpent_ros.cerebrums.api.ids import Endpoint
from rpent_ros.errors import (
    LlmBadKey,
    LlmContextFull,
    LlmFailed,
    LlmNoTools,
    LlmNoVision,
    LlmUnknownModel,
    LlmUnreachable,
    RpentError,
)
from rpent_ros.secrets import redact

# Longest pause that a provider may ask for [s]; a run had better end than wait for longer.
LONGEST_PAUSE_S = 300.0
# Longest quotation of a provider [characters].
_QUOTE = 300
_PASSING = frozenset({408, 409, 429, 529})
_WORDS = {429: 'too many requests', 503: 'not available', 529: 'overloaded'}
_TOO_LARGE = 413

# Both in the words of a server whose model takes no pictures: vLLM, Ollama, llama.cpp, OpenRouter.
_PICTURES = re.compile(r'image|vision|multi-?modal', re.IGNORECASE)
_UNFIT = re.compile(
    r'support|not a multi|only|at most 0|missing data|unknown variant|not allowed|cannot',
    re.IGNORECASE,
)
# Likewise for tools: Ollama, OpenRouter, and a vLLM that was started without a parser.
_NO_TOOLS = re.compile(
    r'(tool|function).{0,60}(not supported|unsupported)|not support.{0,30}(tool|function)'
    r'|enable-auto-tool-choice|support tool use',
    re.IGNORECASE | re.DOTALL,
)


class CutOff(Exception):
    """Raised when an answer ended before it was whole."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """What went wrong.

    Attributes:
      error: what to raise if it lasts.
      happened: the beginning of a sentence, e.g. anthropic answered 529 (overloaded).
      passing: it may go away by itself.
      retry_after_s: how long the provider asks us to wait [s]; None: it does not say.
    """

    error: RpentError
    happened: str
    passing: bool = False
    retry_after_s: float | None = None


def classify(error: Exception, endpoint: Endpoint, *, pictures: bool) -> Fault:
    """Make sense of what a request ended with.

    Args:
      error: raised by pydantic-ai, a vendor's library, or CutOff.
      endpoint: who was asked.
      pictures: the request held some.
    """
    who = endpoint.provider.prefix
    if isinstance(error, pai.ModelHTTPError):
        return _answered(error, endpoint, pictures)
    if isinstance(error, pai.ModelConnectionError) and error.phase in ('connect', 'pool'):
        happened = f'{who} cannot be reached at {endpoint.url} ({_root(error)})'
        advice = f'; check the network, the base URL and {endpoint.provider.url_variable}'
        return _passing(LlmUnreachable(happened + advice), happened, error)
    if isinstance(error, pai.ModelTimeoutError):
        happened = f'{who} at {endpoint.url} said nothing for too long'
        return _passing(LlmUnreachable(f'{happened}; see request_timeout_s'), happened, error)
    if isinstance(error, (CutOff, pai.ModelConnectionError)):
        happened = f'{who} at {endpoint.url} broke off before its answer was whole'
        return _passing(LlmUnreachable(happened), happened, error)
    if isinstance(error, pai.ModelEmptyResponseError):
        happened = f'{who} at {endpoint.url} sent an empty answer'
        return _passing(LlmFailed(f'{happened}; is this its API?'), happened, error)
    return _senseless(error, endpoint, pictures)


def _passing(lasting: RpentError, happened: str, error: Exception) -> Fault:
    return Fault(lasting, happened, True, getattr(error, 'retry_after', None))


def _answered(error: pai.ModelHTTPError, endpoint: Endpoint, pictures: bool) -> Fault:
    """An answer with a status, or an error within a stream that is as good as one."""
    status, said, who = error.status_code, words(error), endpoint.provider.prefix
    happened = f'{who} answered {status} ({_word(status)})'
    quote = f': {said}' if said else ''
    rejected = _rejected(error, endpoint, said, pictures)
    if rejected is not None:
        return Fault(rejected, happened)
    if isinstance(error, pai.ModelQuotaExceededError):
        return Fault(
            LlmFailed(f'{who} refuses to go on for lack of credit ({status}{quote})'), happened
        )
    passing = status in _PASSING or status >= 500
    if error.provider_retry_hint is False:
        passing = False
    if passing and (error.retry_after or 0) > LONGEST_PAUSE_S:
        return Fault(
            LlmFailed(f'{happened} and asks us to wait for {error.retry_after:.0f} s{quote}'),
            happened,
        )
    return Fault(LlmFailed(f'{happened}{quote}'), happened, passing, error.retry_after)


def _rejected(
    error: pai.ModelHTTPError, endpoint: Endpoint, said: str, pictures: bool
) -> RpentError | None:
    """Why a request will never be accepted as it is; None if that is not known."""
    who, status, provider = endpoint.provider.prefix, error.status_code, endpoint.provider
    cause = f'({status}: {said})' if said else f'({status})'
    # First: servers answer 400, 404 and 500 to pictures that a model does not take.
    unfit = _PICTURES.search(said) and _UNFIT.search(said)
    if pictures and status not in _PASSING and unfit:
        return no_vision(endpoint, cause)
    if _NO_TOOLS.search(said):
        return LlmNoTools(
            f'{endpoint.name} does not call tools {cause}; choose a model that does, or start '
            'its server with tool calling enabled'
        )
    if isinstance(error, pai.ModelAuthenticationError):
        if endpoint.keyless:
            return LlmBadKey(
                f'{who} at {endpoint.url} wants a key {cause}: export {provider.key_variable}=...'
            )
        return LlmBadKey(
            f'{who} at {endpoint.url} does not accept the key in {provider.key_variable} {cause}; '
            'export a valid one'
        )
    if isinstance(error, pai.ModelNotFoundError):
        return _not_found(error, endpoint, cause)
    if isinstance(error, pai.ModelContextWindowExceededError) or status == _TOO_LARGE:
        return LlmContextFull(
            f'the conversation no longer fits {endpoint.name} {cause}; fewer or smaller pictures '
            '(images_kept, image_size) or a lower max_output_tokens leave more room'
        )
    return None


def _not_found(error: pai.ModelHTTPError, endpoint: Endpoint, cause: str) -> RpentError:
    if not isinstance(error.body, dict):
        version = '' if endpoint.provider.package == 'anthropic' else '/v1 at the end of '
        return LlmUnknownModel(
            f'nothing at {endpoint.url} answers requests for {endpoint.name} {cause}; check '
            f'{version}the base URL'
        )
    near = f'; did you mean {error.suggested_model_id}?' if error.suggested_model_id else ''
    return LlmUnknownModel(
        f'{endpoint.provider.prefix} at {endpoint.url} has no model {endpoint.model!r} '
        f'{cause}{near}'
    )


def no_vision(endpoint: Endpoint, cause: str) -> LlmNoVision:
    """The model takes no pictures."""
    return LlmNoVision(
        f'{endpoint.name} does not take pictures {cause}; use --text-only, or a model that does'
    )


def _senseless(error: Exception, endpoint: Endpoint, pictures: bool) -> Fault:
    """Neither a status nor a broken connection."""
    said = _quote(str(error))
    if pictures and isinstance(error, pai.ModelFeatureUnsupportedError) and 'image' in said:
        return Fault(no_vision(endpoint, f'({said})'), 'the picture was refused')
    if isinstance(error, pai.ModelAPIError) and error.in_stream:
        happened = f'{endpoint.provider.prefix} reported an error ({words(error) or said})'
        return _passing(LlmFailed(happened), happened, error)
    if isinstance(error, pai.ModelAPIError):
        happened = f'{endpoint.provider.prefix} at {endpoint.url} answered what is not its API'
        return Fault(LlmFailed(f'{happened} ({said}); check the base URL'), happened)
    happened = f'{endpoint.name} cannot be asked ({type(error).__name__}: {said})'
    return Fault(LlmFailed(happened), happened)


def words(error: pai.ModelAPIError) -> str:
    """The provider's own words, on one line; '' if it said nothing."""
    body: Any = error.body
    if isinstance(body, dict) and isinstance(body.get('error'), (dict, str)):
        body = body['error']
    if isinstance(body, dict):
        body = body.get('message') or body.get('detail') or ''
    return _quote(body if isinstance(body, str) else '')


def _quote(text: str) -> str:
    line = redact(' '.join(text.split()))
    return line if len(line) <= _QUOTE else line[: _QUOTE - 4] + ' ...'


def _word(status: int) -> str:
    if status in _WORDS:
        return _WORDS[status]
    try:
        return http.HTTPStatus(status).phrase.lower()
    except ValueError:
        return 'an error'


def _root(error: BaseException) -> str:
    """The innermost cause, which is the one that names the reason."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    reason = getattr(error, 'strerror', None) or str(error) or type(error).__name__
    return _quote(reason)
