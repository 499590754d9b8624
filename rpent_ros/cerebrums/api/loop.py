"""The loop of a planner: ask, carry out what is called, answer, and so on until it finishes."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart

from rpent_ros.cerebrums.api import models, pictures
from rpent_ros.cerebrums.api.history import History
from rpent_ros.cerebrums.api.ids import find_endpoint
from rpent_ros.cerebrums.api.requests import Interrupted, Line
from rpent_ros.cerebrums.base import CerebrumResult, Steering, Tools
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.errors import ErrorCode, LlmContextFull, LlmRefused
from rpent_ros.tools.toolkit import Claim

# Answers without a tool call in a row after which the model has given up.
MAX_NUDGES = 3
NUDGE = (
    'You called no tool, so nothing happens. Call a tool to go on with the task, or call finish '
    'to end it.'
)
INTERRUPTED = 'not executed: the operator interrupted'
CUT = 'not executed: your answer was cut off at its longest length before this call was whole'
SHORTER = 'Your last answer was cut off at its longest length. Be shorter.'
# How often it is asked whether to go on while an operator is thinking [s].
_CHECK_S = 0.2


def solve(
    llm: LlmOptions, system_prompt: str, user_message: str, tools: Tools, steering: Steering
) -> CerebrumResult:
    """Carry out one task; see `Cerebrum.solve`."""
    endpoint = find_endpoint(llm)
    language_model = models.build(endpoint, llm)
    history = History(
        system_prompt,
        user_message,
        in_results=language_model.pictures_in_results,
        images_kept=llm.images_kept,
        image_bytes_kept=llm.image_bytes_kept,
    )
    with Line(language_model, tools, steering, max_retries=llm.max_retries) as line:
        return _Conversation(endpoint.name, line, history, tools, steering).solve()


class _Conversation:
    """A model at work on a task."""

    def __init__(
        self, name: str, line: Line, history: History, tools: Tools, steering: Steering
    ) -> None:
        self._name = name
        self._line = line
        self._history = history
        self._tools = tools
        self._steering = steering
        self._parameters = models.parameters(tools.specs)
        self._calls = 0
        self._silent = 0

    def solve(self) -> CerebrumResult:
        """Ask and carry out until the model finishes or gives up."""
        while True:
            self._hear()
            try:
                answer = self._ask()
            except Interrupted:
                continue
            result = self._take(answer)
            if result is not None:
                return result

    def _hear(self) -> None:
        """Pass on what people have to say."""
        notice = self._steering.acknowledge()
        if notice is not None:
            if notice.message:
                self._tools.say(notice.message, role='user', name='user')
            self._history.add_text(str(notice))
        for message in self._steering.take():
            self._tools.say(message, role='user', name='user')
            self._history.add_text(f'Message from the operator: {message}')

    def _ask(self) -> ModelResponse:
        """The next answer; pictures make room for it if they must."""
        self._history.prune()
        try:
            return self._request()
        except LlmContextFull as error:
            dropped = self._history.prune_hard()
            if not dropped:
                raise
            self._tools.warn(f'{error}; {dropped} pictures are left out and it is tried again')
            return self._request()

    def _request(self) -> ModelResponse:
        return self._line.ask(
            self._history.messages, self._parameters, pictures=self._history.pictures > 0
        )

    def _take(self, answer: ModelResponse) -> CerebrumResult | None:
        """Carry out an answer; None: go on."""
        self._say(answer)
        if answer.finish_reason == 'content_filter':
            details = answer.provider_details or {}
            why = details.get('refusal') or details.get('finish_reason') or 'no reason given'
            raise LlmRefused(f'{self._name} refuses to go on ({why}); word the task differently')
        cut = answer.finish_reason == 'length'
        if cut:
            self._tools.warn(
                f'an answer of {self._name} was cut off after {answer.usage.output_tokens} tokens;'
                ' max_output_tokens allows longer ones'
            )
        self._history.add_answer(answer)
        calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
        if not calls:
            return self._without_calls(cut)
        self._silent = 0
        # Of a call that was cut off, nobody knows what else it would have said.
        broken = calls[-1] if cut and answer.parts[-1] is calls[-1] else None
        result = self._carry_out(calls, broken)
        if cut and result is None:
            self._history.add_text(SHORTER)
        return result

    def _say(self, answer: ModelResponse) -> None:
        for part in answer.parts:
            if isinstance(part, ThinkingPart) and part.content.strip():
                self._tools.say(part.content.strip(), name='thinking')
            elif isinstance(part, TextPart) and part.content.strip():
                self._tools.say(part.content.strip())

    def _without_calls(self, cut: bool) -> CerebrumResult | None:
        """The model has only talked: to the operator, or by mistake."""
        if self._steering.interactive:
            while not self._steering.wait(_CHECK_S):
                self._tools.check()
            return None
        self._silent += 1
        if self._silent > MAX_NUDGES:
            doubt = '' if self._calls else f'; rpent check-llm tells whether {self._name} can'
            return CerebrumResult(
                None,
                stop_reason=f'{self._name} called no tool in {self._silent} answers{doubt}',
            )
        self._history.add_text(f'{SHORTER} {NUDGE}' if cut else NUDGE)
        return None

    def _carry_out(
        self, calls: list[ToolCallPart], broken: ToolCallPart | None
    ) -> CerebrumResult | None:
        """Run the tools in order; each call gets a result, whatever happens."""
        for call in calls:
            if self._steering.interrupted:
                self._refuse(call, INTERRUPTED)
                continue
            if call is broken:
                self._refuse(call, CUT)
                continue
            self._calls += 1
            result = self._tools.call(call.tool_name, _arguments(call))
            shown = [pictures.load(image, self._calls) for image in result.images]
            self._history.add_result(call, result.to_json(), shown)
            if result.ends_run:
                claim = Claim(str(result.data['status']), str(result.data['summary']))
                return CerebrumResult(claim)
        return None

    def _refuse(self, call: ToolCallPart, why: str) -> None:
        result = {'ok': False, 'code': ErrorCode.CANCELED.name, 'message': why}
        self._history.add_result(call, result)


def _arguments(call: ToolCallPart) -> Any:
    """The arguments as an object; as they are if they are none, for the toolkit to refuse."""
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return call.args
