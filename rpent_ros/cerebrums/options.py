"""What planners that use a language model are told about it."""

from __future__ import annotations

import dataclasses
import math
import urllib.parse

from rpent_ros.errors import InvalidRequest

EFFORTS = ('', 'low', 'medium', 'high', 'max')


@dataclasses.dataclass(frozen=True)
class LlmOptions:
    """Which language model, where, and how it is used.

    Attributes:
      model: the model, in the planner's own notation; '': the planner's default.
      base_url: where its provider answers; '': the vendor's address, or its environment variable.
      effort: how much it thinks: low, medium, high or max; '': the model's default.
      max_output_tokens: longest answer [tokens].
      request_timeout_s: longest silence while an answer is awaited [s].
      max_retries: how often a request that failed for a passing reason is made again.
      images_kept: pictures that the model keeps seeing; older ones are replaced by a line.
      image_bytes_kept: likewise, their size together [bytes].
      mcp_port: port for MCP clients on 127.0.0.1; 0: a free one.
    """

    model: str = ''
    _: dataclasses.KW_ONLY
    base_url: str = ''
    effort: str = ''
    max_output_tokens: int = 16_000
    request_timeout_s: float = 120.0
    max_retries: int = 6
    images_kept: int = 12
    image_bytes_kept: int = 8_000_000
    mcp_port: int = 0

    def __post_init__(self) -> None:
        if self.base_url:
            parts = urllib.parse.urlsplit(self.base_url)
            if parts.scheme not in ('http', 'https') or not parts.hostname:
                raise InvalidRequest(
                    f'base_url: expected http://HOST or https://HOST, got {self.base_url!r}'
                )
            if parts.password:
                raise InvalidRequest(
                    'base_url: expected no password in it; keys belong into the environment'
                )
        if self.effort not in EFFORTS:
            raise InvalidRequest(
                f'effort: expected one of {", ".join(EFFORTS[1:])}, got {self.effort!r}'
            )
        lowest = {
            'max_output_tokens': 1, 'max_retries': 0, 'images_kept': 1, 'image_bytes_kept': 1,
        }  # fmt: skip
        for name, low in lowest.items():
            if getattr(self, name) < low:
                raise InvalidRequest(
                    f'{name}: expected {low} or above, got {getattr(self, name)}'
                )
        if not 0 < self.request_timeout_s < math.inf:
            raise InvalidRequest(
                f'request_timeout_s: expected above 0 s, got {self.request_timeout_s}'
            )
        if not 0 <= self.mcp_port <= 65535:
            raise InvalidRequest(f'mcp_port: expected 0 to 65535, got {self.mcp_port}')
