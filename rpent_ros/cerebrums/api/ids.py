"""Names of language models, and what their providers want: an address and a key."""

from __future__ import annotations

import dataclasses
import os
import re
import urllib.parse
from collections.abc import Mapping

from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import LlmNoKey, LlmUnknownModel
from rpent_ros.secrets import add_secret

DEFAULT_MODEL = 'anthropic:claude-opus-4-8'


@dataclasses.dataclass(frozen=True)
class Provider:
    """One way to reach language models.

    Attributes:
      prefix: before the colon in a model's name.
      package: the vendor's Python library.
      key_variable: environment variable that holds the key.
      url_variable: environment variable that holds another address.
      url: the vendor's address.
      keyless: with another address it works without a key, as servers of one's own do.
    """

    prefix: str
    _: dataclasses.KW_ONLY
    package: str
    key_variable: str
    url_variable: str
    url: str
    keyless: bool = False


_OPENAI_URL = 'https://api.openai.com/v1'
PROVIDERS = (
    Provider(
        'anthropic', package='anthropic', key_variable='ANTHROPIC_API_KEY',
        url_variable='ANTHROPIC_BASE_URL', url='https://api.anthropic.com',
    ),
    Provider(
        'openai', package='openai', key_variable='OPENAI_API_KEY',
        url_variable='OPENAI_BASE_URL', url=_OPENAI_URL,
    ),
    Provider(
        'openai-chat', package='openai', key_variable='OPENAI_API_KEY',
        url_variable='OPENAI_BASE_URL', url=_OPENAI_URL, keyless=True,
    ),
)  # fmt: skip
_BY_PREFIX = {provider.prefix: provider for provider in PROVIDERS}
# Names that say by themselves whose they are.
_FAMILIES = ((re.compile(r'claude-'), 'anthropic'), (re.compile(r'gpt-\d|o\d'), 'openai'))


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """A language model, where it is reached and with what key.

    Attributes:
      provider: how it is reached.
      model: its name, as the provider knows it.
      base_url: the address; '': the vendor's.
      key: the key; '': none is needed.
    """

    provider: Provider
    model: str
    _: dataclasses.KW_ONLY
    base_url: str = ''
    key: str = dataclasses.field(default='', repr=False)

    @property
    def name(self) -> str:
        """The model with its provider, e.g. anthropic:claude-opus-4-8."""
        return f'{self.provider.prefix}:{self.model}'

    @property
    def url(self) -> str:
        """The address for people: no user, no password, no query."""
        parts = urllib.parse.urlsplit(self.base_url or self.provider.url)
        host = parts.netloc.rpartition('@')[2]
        return f'{parts.scheme}://{host}{parts.path}'.rstrip('/')

    @property
    def keyless(self) -> bool:
        """True if no key is sent."""
        return not self.key


def find_endpoint(llm: LlmOptions, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """The model that the options name, its address and its key; all keys are kept secret.

    Raises:
      LlmUnknownModel: unknown provider, or no model after it.
      LlmNoKey: the key is not in the environment.
    """
    provider, model = split(llm.model or DEFAULT_MODEL)
    base_url = llm.base_url or environ.get(provider.url_variable, '').strip()
    add_secret(urllib.parse.urlsplit(base_url).password)
    key = environ.get(provider.key_variable, '').strip()
    add_secret(key)
    endpoint = Endpoint(provider, model, base_url=base_url, key=key)
    if not key and not (provider.keyless and base_url):
        raise LlmNoKey(
            f'{endpoint.name} needs a key: export {provider.key_variable}=... before you start'
        )
    return endpoint


def split(name: str) -> tuple[Provider, str]:
    """Provider and model of a name, e.g. openai-chat:qwen3-vl:8b.

    Raises:
      LlmUnknownModel: there is no such provider, or no model after it.
    """
    prefix, colon, model = name.strip().partition(':')
    if not colon:
        for pattern, family in _FAMILIES:
            if pattern.match(prefix):
                return _BY_PREFIX[family], prefix
    if prefix in _BY_PREFIX and model:
        return _BY_PREFIX[prefix], model
    known = ', '.join(f'{prefix}:NAME' for prefix in _BY_PREFIX)
    raise LlmUnknownModel(f'model {name!r}: expected one of {known}, e.g. {DEFAULT_MODEL}')
