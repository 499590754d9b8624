"""A conversation with a model: valid at any time, and no larger than it needs to be.

Pictures are most of it.  The oldest are left out, many at a time: each time costs the provider's
cache of the conversation, so half of what may stay is free afterwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from rpent_ros.cerebrums.api.pictures import Picture


@dataclasses.dataclass(eq=False)
class _Place:
    """A picture, and the list that holds its line and itself."""

    picture: Picture
    content: list[Any]

    def clear(self) -> None:
        """Put a line in its place."""
        at = next(i for i, item in enumerate(self.content) if item is self.picture.content)
        # The line above the picture goes with it.
        self.content[at - 1 : at + 1] = [self.picture.absence]


class History:
    """The messages between a model and us.

    Args:
      system: the system prompt.
      task: the first message.
      in_results: pictures travel within the results of tools; False: in the user's message.
      images_kept: pictures that may stay.
      image_bytes_kept: their size together [bytes].
    """

    def __init__(
        self, system: str, task: str, *, in_results: bool, images_kept: int, image_bytes_kept: int
    ) -> None:
        self._in_results = in_results
        self._images_kept = images_kept
        self._bytes_kept = image_bytes_kept
        first = ModelRequest([SystemPromptPart(system), UserPromptPart(task)])
        self._messages: list[ModelMessage] = [first]
        self._places: list[_Place] = []
        # Pictures from here on belong to the newest results.
        self._newest = 0

    @property
    def messages(self) -> list[ModelMessage]:
        """What to send."""
        return list(self._messages)

    @property
    def pictures(self) -> int:
        """How many pictures the model sees."""
        return len(self._places)

    def add_answer(self, answer: ModelResponse) -> None:
        """Add what the model said; nothing if it said nothing."""
        if answer.parts:
            self._messages.append(answer)
            self._newest = len(self._places)

    def add_result(
        self, call: ToolCallPart, result: dict[str, Any], pictures: Sequence[Picture | str] = ()
    ) -> None:
        """Add what a tool answered.

        Args:
          call: the call, of the last answer.
          result: JSON types.
          pictures: what belongs to it, or lines that say why one is missing.
        """
        content: list[Any] = [result] if pictures and self._in_results else []
        # After the results of all calls: servers want these first.
        holder = content if self._in_results else self._user_content() if pictures else []
        for picture in pictures:
            if isinstance(picture, str):
                holder.append(picture)
                continue
            holder += [picture.label, picture.content]
            self._places.append(_Place(picture, holder))
        part = ToolReturnPart(call.tool_name, content or result, tool_call_id=call.tool_call_id)
        parts = self._parts()
        at = next((i for i, p in enumerate(parts) if isinstance(p, UserPromptPart)), len(parts))
        parts.insert(at, part)

    def add_text(self, text: str) -> None:
        """Add words of the user, after the results."""
        self._user_content().append(text)

    def prune(self) -> int:
        """Leave out old pictures if there are too many; returns how many."""
        total = sum(place.picture.size for place in self._places)
        if len(self._places) <= self._images_kept and total <= self._bytes_kept:
            return 0
        return self._drop(self._newest, self._images_kept // 2, self._bytes_kept // 2)

    def prune_hard(self) -> int:
        """Leave out all pictures but those of the last result; returns how many."""
        if not self._places:
            return 0
        last = self._places[-1].picture.call
        of_others = sum(place.picture.call != last for place in self._places)
        return self._drop(of_others, 0, 0)

    def _drop(self, droppable: int, count: int, size: int) -> int:
        """Leave out the oldest of the first `droppable` until `count` and `size` hold."""
        dropped = 0
        total = sum(place.picture.size for place in self._places)
        while dropped < droppable:
            if len(self._places) - dropped <= count and total <= size:
                break
            place = self._places[dropped]
            total -= place.picture.size
            place.clear()
            dropped += 1
        del self._places[:dropped]
        self._newest = max(0, self._newest - dropped)
        return dropped

    def _parts(self) -> list[ModelRequestPart]:
        """The parts of the request that comes next."""
        last = self._messages[-1]
        if not isinstance(last, ModelRequest):
            last = ModelRequest([])
            self._messages.append(last)
        # This class made it, from a list.
        return cast(list[ModelRequestPart], last.parts)

    def _user_content(self) -> list[Any]:
        """What the user says in the request that comes next."""
        parts = self._parts()
        if not parts or not isinstance(parts[-1], UserPromptPart):
            parts.append(UserPromptPart([]))
        said = cast(UserPromptPart, parts[-1])
        if isinstance(said.content, str):
            said.content = [said.content]
        return cast(list[Any], said.content)
