"""The toolkit of a manipulator: perception on the dumps, motion through the primitive driver."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rpent_ros.errors import ErrorCode, InvalidRequest
from rpent_ros.ports import SegmenterClient, ShouldStop
from rpent_ros.primitives.manipulation import ManipulationPrimitives, never
from rpent_ros.states import View
from rpent_ros.tools import dump, perception
from rpent_ros.tools.definition import Effect, ToolDefinition
from rpent_ros.tools.result import ToolResult
from rpent_ros.tools.segmentation import SegmentationTool
from rpent_ros.tools.text_files import MemoryDir, TextFiles
from rpent_ros.tools.tool import Handler
from rpent_ros.tools.toolkit import Claim, Toolkit
from rpent_ros.tools.words import PICTURE_TOOLS, describe_scene

OnDump = Callable[[dump.StepDump], None]
LEARNED = ('pi0_pick', 'pi0_doubled')
NEED_SEGMENTER = ('segment',)
_GONE = frozenset({ErrorCode.PEER_DIED, ErrorCode.UNAVAILABLE, ErrorCode.TIMEOUT})


def left_out(*, policy: bool, segmenter: bool, text_only: bool) -> frozenset[str]:
    """Names of the tools that are not offered without a policy, a segmenter or pictures."""
    return frozenset({
        *(() if policy else LEARNED),
        *(() if segmenter else NEED_SEGMENTER),
        *(PICTURE_TOOLS if text_only else ()),
    })


class ManipulationToolkit(Toolkit):
    """Tools of an arm with a gripper.  Dumps state 0 on construction: reset the driver first.

    Args:
      primitives_kwargs: given to `primitives` as they are: env, spec, model, policy, settings.
      tools: the tools to offer; the learned ones are left out without a policy.  One that moves
        is the primitive driver's method of that name, any other a method of the toolkit, or of one
        of its readers, such as `Perception`.
      output_dir: the run folder.
      primitives: class of the primitive driver.
      segmenter: finds things in images; None: the tool that needs it is left out.
      text_only: results say in words and numbers what their pictures would show.
      memory_dirs: folders outside the run that planners may read, and write if they say so.
      on_dump: called with every state dump.
      should_stop: asked between control steps.
    """

    def __init__(
        self,
        *,
        primitives_kwargs: Mapping[str, Any],
        tools: Sequence[ToolDefinition],
        output_dir: pathlib.Path | str,
        primitives: type[ManipulationPrimitives] = ManipulationPrimitives,
        segmenter: SegmenterClient | None = None,
        text_only: bool = False,
        memory_dirs: Sequence[MemoryDir] = (),
        on_dump: OnDump | None = None,
        should_stop: ShouldStop = never,
    ) -> None:
        driver = primitives(**primitives_kwargs, should_stop=self.should_stop)
        super().__init__(driver, should_stop=should_stop)
        self.driver = driver
        self.output_dir = pathlib.Path(output_dir)
        self._on_dump = on_dump or (lambda _: None)
        self.text_only = text_only
        self._perception = perception.Perception(self.output_dir, driver.settings)
        self._segmentation = SegmentationTool(self.output_dir, segmenter)
        self._readers = (
            self._perception,
            self._segmentation,
            TextFiles(self.output_dir, memory_dirs),
        )
        missing = left_out(
            policy=driver.has_policy, segmenter=segmenter is not None, text_only=text_only
        )
        for tool in tools:
            if tool.name not in missing:
                self.add_tool(tool.name, tool, self._handler(tool))
        self._last = self.dump({})

    @property
    def last_dump(self) -> dump.StepDump:
        """The newest state dump."""
        return self._last

    def dump(self, log: Mapping[str, Any]) -> dump.StepDump:
        """Write a state dump; a robot with more senses overrides this."""
        index = self._last.index + 1 if hasattr(self, '_last') else 0
        self._last = dump.dump_state(self.driver, self.output_dir, index, log)
        self._on_dump(self._last)
        return self._last

    def finish(self, status: str, summary: str) -> ToolResult:
        """Store the planner's claim; the verdict is the driver's.

        Raises:
          InvalidRequest: success is claimed although nothing has moved.
        """
        if status == 'success' and self.motions == 0:
            raise InvalidRequest(
                'finish: success cannot be claimed before anything has moved; carry out the '
                'task, or finish with failure or stuck'
            )
        self.claim = Claim(status, summary)
        return ToolResult(data={'status': status, 'summary': summary}, ends_run=True)

    def _handler(self, tool: ToolDefinition) -> Handler:
        """What runs when a tool is called.

        Raises:
          InvalidRequest: nobody implements it.
        """
        owners = (self.driver,) if tool.effect == Effect.MOVES else (self, *self._readers)
        owner = next((owner for owner in owners if hasattr(owner, tool.name)), None)
        if owner is None:
            names = ' or '.join(type(owner).__name__ for owner in owners)
            raise InvalidRequest(f'tool {tool.name}: expected a method of that name in {names}')
        if tool.effect == Effect.MOVES:
            return functools.partial(self._step, tool.name)
        handler: Handler = getattr(owner, tool.name)
        return handler

    def _present(self, result: ToolResult) -> ToolResult:
        """In text-only mode, words in the place of pictures."""
        if not self.text_only or not result.images:
            return result
        step = result.data.get('step_idx', -1)
        seen = describe_scene(self._perception, self._segmentation, step)
        return dataclasses.replace(result, images=(), data={**result.data, 'seen': seen})

    def _record(
        self, name: str, arguments: Mapping[str, Any], outcome: ToolResult, seconds: float
    ) -> ToolResult:
        if self._outer_stop() or outcome.code in _GONE:
            # The run is over or a component is gone: nobody will read another dump.
            data = {**outcome.data, 'seconds': round(seconds, 3)}
            return ToolResult(outcome.code, outcome.message, data)
        now = self.driver.env.observe()
        before = self._last.observation
        moved = (now.episode, now.step) != (before.episode, before.step)
        result = {'ok': outcome.ok, 'code': outcome.code.name, 'message': outcome.message}
        if moved:
            # A refused motion changed nothing: no new pictures of the same scene.
            self.motions += 1
            self.dump({
                'command': {'tool': name, 'arguments': dict(arguments)},
                'result': {**result, **outcome.data},
                'elapsed_s': round(seconds, 3),
            })
        entry = self._last.entry
        views = [View.from_json(view) for view in entry['views']]
        data = {
            **outcome.data,
            'seconds': round(seconds, 3),
            'step_idx': self._last.index,
            'state': entry['state'],
        }
        images = perception.images_of(self.output_dir, views) if moved else ()
        return ToolResult(outcome.code, outcome.message, data, images)
