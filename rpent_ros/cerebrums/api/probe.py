"""Finds out whether a model can drive a robot: it must call tools, and see what they show."""

from __future__ import annotations

import dataclasses
import io
import time
from collections.abc import Callable, Iterator
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from pydantic_ai.messages import BinaryContent, ModelResponse, TextPart, ToolCallPart

from rpent_ros.cerebrums.api import models
from rpent_ros.cerebrums.api.history import History
from rpent_ros.cerebrums.api.ids import Endpoint
from rpent_ros.cerebrums.api.pictures import Picture
from rpent_ros.cerebrums.api.requests import Line
from rpent_ros.cerebrums.base import Steering
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import LlmNoTools, LlmNoVision
from rpent_ros.prices import known_prices
from rpent_ros.usage import Usage, UsageTotals

COLOURS = ('red', 'green', 'blue', 'yellow')
_SIDE = 256
_SYSTEM = 'You test whether you can work with tools.  Answer with tool calls only.'
_TASK = (
    'Call look.  When you have its result, call report with the number that it shows and the '
    'colour around the number.'
)
_SPECS: tuple[dict[str, Any], ...] = (
    {
        'name': 'look',
        'description': 'Show a number on a coloured ground.',
        'input_schema': {'type': 'object', 'properties': {}, 'additionalProperties': False},
    },
    {
        'name': 'report',
        'description': 'Say what look has shown.',
        'input_schema': {
            'type': 'object',
            'properties': {
                'number': {'type': 'integer', 'description': 'The number.'},
                'colour': {'type': 'string', 'enum': list(COLOURS), 'description': 'Around it.'},
            },
            'required': ['number', 'colour'],
            'additionalProperties': False,
        },
    },
)


@dataclasses.dataclass(frozen=True)
class Step:
    """Something that the model can do: its name, and what was measured."""

    name: str
    found: str


class _Desk:
    """Stands in for the tools of a run: nothing moves, and only people end it."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self.warn = warn
        self.totals = UsageTotals()

    def check(self) -> None:
        """The test may go on."""

    def should_stop(self) -> bool:
        """The test may go on."""
        return False

    def spend(self, usage: Usage) -> None:
        """Count."""
        self.totals.add(dataclasses.replace(usage, usd=known_prices().of(usage)))


class Probe:
    """Asks a model two things.

    Args:
      endpoint: which model.
      llm: how it is asked.
      text_only: no picture is shown to it.
      number: what it has to read.
      colour: what is around the number, one of COLOURS.
      warn: told when something is tried again.
    """

    def __init__(
        self, endpoint: Endpoint, llm: LlmOptions, *, text_only: bool, number: int, colour: str,
        warn: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._endpoint = endpoint
        self._llm = llm
        self._text_only = text_only
        self._shown = (number, colour)
        self._desk = _Desk(warn)

    @property
    def totals(self) -> UsageTotals:
        """What it took so far."""
        return self._desk.totals

    def run(self) -> Iterator[Step]:
        """Ask, and tell after each answer what the model can do.

        Raises:
          RpentError: it cannot, or it cannot be asked.
        """
        model = models.build(self._endpoint, self._llm)
        history = History(
            _SYSTEM, _TASK, in_results=model.pictures_in_results, images_kept=1,
            image_bytes_kept=1_000_000,
        )  # fmt: skip
        retries = self._llm.max_retries
        with Line(model, self._desk, Steering(), max_retries=retries) as line:
            call, took = self._ask(line, history, 'look')
            yield Step('tools', f'called look after {took:.1f} s')
            self._answer(history, call)
            call, took = self._ask(line, history, 'report')
            self._judge(call)
        number, colour = self._shown
        medium = 'results' if self._text_only else 'pictures'
        yield Step(medium, f'read {number} on {colour} after {took:.1f} s')

    def _ask(self, line: Line, history: History, tool: str) -> tuple[ToolCallPart, float]:
        """The call of a tool, and how long it took [s]."""
        begun = time.monotonic()
        answer = line.ask(
            history.messages, models.parameters(_SPECS), pictures=history.pictures > 0
        )
        took = time.monotonic() - begun
        history.add_answer(answer)
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        if not calls or calls[0].tool_name != tool:
            raise LlmNoTools(
                f'{self._endpoint.name} was asked to call {tool} and {_did(answer)}; choose a '
                'model that calls tools'
            )
        # Every call needs a result, whether it was asked for or not.
        for call in calls[1:]:
            history.add_result(call, {'ok': False, 'message': 'one call at a time'})
        return calls[0], took

    def _answer(self, history: History, call: ToolCallPart) -> None:
        number, colour = self._shown
        if self._text_only:
            history.add_result(call, {'ok': True, 'number': number, 'colour': colour})
            return
        content = BinaryContent(draw(number, colour), media_type='image/png', identifier='look')
        picture = Picture('look', 1, f'look, {_SIDE} x {_SIDE} px:', content)
        history.add_result(call, {'ok': True, 'message': 'see the picture'}, [picture])

    def _judge(self, call: ToolCallPart) -> None:
        read = call.args_as_dict()
        if (read.get('number'), str(read.get('colour')).lower()) == self._shown:
            return
        number, colour = self._shown
        told = f'it reported {read} where {number} on {colour} was shown'
        if self._text_only:
            raise LlmNoTools(
                f'{self._endpoint.name} does not read the results of tools: {told}; choose a '
                'better model'
            )
        raise LlmNoVision(
            f'{self._endpoint.name} does not see what tools show: {told}; use --text-only, or a '
            'model that takes pictures'
        )


def draw(number: int, colour: str) -> bytes:
    """A PNG of a number on a coloured ground."""
    image = Image.new('RGB', (_SIDE, _SIDE), colour)
    middle = (_SIDE / 2, _SIDE / 2)
    font = ImageFont.load_default(size=_SIDE / 2)
    ImageDraw.Draw(image).text(
        middle, str(number), fill='white', font=font, anchor='mm', stroke_width=6,
        stroke_fill='black',
    )  # fmt: skip
    buffer = io.BytesIO()
    image.save(buffer, 'PNG')
    return buffer.getvalue()


def _did(answer: ModelResponse) -> str:
    """What the model did, for people."""
    for part in answer.parts:
        if isinstance(part, ToolCallPart):
            return f'called {part.tool_name}'
    said = ' '.join(p.content for p in answer.parts if isinstance(p, TextPart)).strip()
    short = said if len(said) <= 80 else said[:77] + '...'
    return f'said {short!r}' if short else 'said nothing'
