"""Language models as pydantic-ai objects, with the settings that this planner needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings, ThinkingEffort
from pydantic_ai.tools import ToolDefinition

from rpent_ros.cerebrums.api.ids import Endpoint
from rpent_ros.cerebrums.options import LlmOptions

# Sent where a library insists on a key and the server wants none.
_NO_KEY = 'none'


@dataclasses.dataclass(frozen=True)
class LanguageModel:
    """A model that can be asked.

    Attributes:
      endpoint: which one it is and where.
      model: asks it.
      settings: sent with each request.
      pictures_in_results: pictures travel within the results of tools; False: its API has no room
        for them there, so they follow in a message of the user.
    """

    endpoint: Endpoint
    model: Model[Any]
    settings: ModelSettings
    pictures_in_results: bool


def build(endpoint: Endpoint, llm: LlmOptions) -> LanguageModel:
    """Make a model ready to be asked; nothing is sent yet."""
    # One layer of retries, and it is ours: the libraries' would hide what happens from people.
    settings = ModelSettings(
        max_tokens=llm.max_output_tokens, timeout=llm.request_timeout_s, max_retries=0
    )
    if endpoint.provider.prefix == 'anthropic':
        model = _anthropic(endpoint)
        more = _anthropic_settings(model.profile, llm)
    else:
        chat = endpoint.provider.prefix == 'openai-chat'
        model = _openai_chat(endpoint) if chat else _openai_responses(endpoint)
        more = _openai_settings(model.profile, llm, endpoint, chat=chat)
    return LanguageModel(
        endpoint,
        model,
        cast(ModelSettings, {**settings, **more}),
        pictures_in_results=endpoint.provider.prefix != 'openai-chat',
    )


def parameters(specs: Sequence[dict[str, Any]]) -> ModelRequestParameters:
    """The tools in a request."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=spec['name'],
                description=spec['description'],
                parameters_json_schema=spec['input_schema'],
                # The schemas are checked here; a vendor's strict mode would rewrite them.
                strict=False,
            )
            for spec in specs
        ]
    )


def _anthropic(endpoint: Endpoint) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key=endpoint.key, base_url=endpoint.base_url or None)
    return AnthropicModel(endpoint.model, provider=provider)


def _openai_responses(endpoint: Endpoint) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel(endpoint.model, provider=_openai_provider(endpoint))


def _openai_chat(endpoint: Endpoint) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    return OpenAIChatModel(
        endpoint.model,
        provider=_openai_provider(endpoint),
        profile=OpenAIModelProfile(
            # Without it an answer that was cut off looks like a whole one.
            openai_chat_streaming_requires_finish_reason=True,
            # Servers of one's own know the older name of this field, OpenAI the newer one.
            openai_chat_supports_max_completion_tokens=not endpoint.base_url,
        ),
    )


def _openai_provider(endpoint: Endpoint) -> Any:
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIProvider(
        api_key=endpoint.key or _NO_KEY, base_url=endpoint.base_url or endpoint.provider.url
    )


def _anthropic_settings(profile: ModelProfile, llm: LlmOptions) -> dict[str, Any]:
    """Prompt caching, and thinking."""
    # Marks of our own rather than the automatic one, which gateways and other servers may lack.
    out: dict[str, Any] = {
        'anthropic_cache_tool_definitions': True,
        'anthropic_cache_instructions': True,
        'anthropic_cache_messages': True,
    }
    if not llm.effort:
        return out
    from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP

    effort = cast(ThinkingEffort, llm.effort)
    out['thinking'] = effort
    if not profile.get('anthropic_supports_adaptive_thinking', False):
        # What such models think counts as output.
        out['max_tokens'] = llm.max_output_tokens + ANTHROPIC_THINKING_BUDGET_MAP[effort]
    return out


def _openai_settings(
    profile: ModelProfile, llm: LlmOptions, endpoint: Endpoint, *, chat: bool
) -> dict[str, Any]:
    """Thinking, and no copy of what the robot sees at the vendor."""
    out: dict[str, Any] = {} if chat else {'openai_store': False}
    if not endpoint.base_url:
        # Where this does nothing, OpenAI caches by itself.
        out['cache'] = True
    if llm.effort and profile.get('supports_thinking', False):
        out['thinking'] = llm.effort
    elif llm.effort:
        # A model that the library does not know; the server says if it knows no such thing.
        out['openai_reasoning_effort'] = 'high' if llm.effort == 'max' else llm.effort
    return out
