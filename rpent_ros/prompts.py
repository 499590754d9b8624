"""Prompts as titled sections with strict placeholders."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from rpent_ros.errors import InvalidRequest


@dataclasses.dataclass(frozen=True)
class BulletList:
    """Lines that start with a dash."""

    items: Sequence[str]

    def text(self) -> str:
        """The list as text."""
        return '\n'.join(f'- {item}' for item in self.items)


@dataclasses.dataclass(frozen=True)
class Numbered:
    """Lines that start with a number."""

    items: Sequence[str]

    def text(self) -> str:
        """The list as text."""
        return '\n'.join(f'{n}. {item}' for n, item in enumerate(self.items, start=1))


PromptNode = Union[str, BulletList, Numbered, Mapping[str, 'PromptNode']]  # noqa: UP007
Sections = Mapping[str, PromptNode]
_PLACEHOLDER = re.compile(r'\{\{\s*(\w+)\s*\}\}')


@dataclasses.dataclass(frozen=True)
class PromptBundle:
    """The two prompts of a robot; one bundle serves every cerebrum.

    Attributes:
      system: returns the sections that hold for every task.
      user: returns the sections that name the task.
    """

    system: Callable[[], Sections]
    user: Callable[[], Sections]

    def render(self, variables: Mapping[str, Any]) -> tuple[str, str]:
        """Fill both prompts.

        Args:
          variables: value of each {{placeholder}}.

        Returns:
          System prompt and user message.

        Raises:
          InvalidRequest: a placeholder has no value.
        """
        return render(self.system(), variables), render(self.user(), variables)


def render(sections: Sections, variables: Mapping[str, Any], level: int = 1) -> str:
    """Assemble sections under headings and fill their placeholders.

    Raises:
      InvalidRequest: a placeholder has no value.
    """
    parts = []
    for title, node in sections.items():
        if isinstance(node, Mapping):
            body = render(node, variables, level + 1)
        else:
            text = node if isinstance(node, str) else node.text()
            body = _fill(title, text.strip(), variables)
        parts.append(f'{"#" * level} {title}\n\n{body}')
    return '\n\n'.join(parts)


def _fill(title: str, text: str, variables: Mapping[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in variables:
            known = ', '.join(sorted(variables)) or 'none'
            raise InvalidRequest(
                f'prompt section {title!r}: no value for {{{{{name}}}}}; known values: {known}'
            )
        return str(variables[name])

    return _PLACEHOLDER.sub(value, text)
