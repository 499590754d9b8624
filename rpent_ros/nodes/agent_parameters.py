"""Parameters of the agent node, and the runs that they describe."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any

from rpent_msgs.action import RunTask
from rpent_ros import run_dir
from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.limits import Limits
from rpent_ros.nodes.parameters import parameter
from rpent_ros.run import RunConfig
from rpent_ros.tools.options import ToolOptions


@dataclasses.dataclass(frozen=True)
class AgentParameters:
    """The parameters of an AgentNode, see config/agent.yaml."""

    robot: str = parameter('libero', 'Robot package that brings toolkit and prompts.')
    suite: str = parameter('', 'Task suite of runs whose goal names none.')
    task: int = parameter(0, 'Task index of runs whose goal names none.', low=0)
    seed: int = parameter(0, 'Initial state of runs whose goal names none.', low=0, high=2**32 - 1)
    instruction: str = parameter('', "Sentence for the planner; empty: the task's own.")
    cerebrum: str = parameter('scripted', 'Planner of runs whose goal names none.')
    model: str = parameter('', "Language model; empty: the planner's default.")
    base_url: str = parameter('', "Where its provider answers; empty: the vendor's address.")
    effort: str = parameter('', 'How much it thinks: low, medium, high, max; empty: its default.')
    recipe: str = parameter('', 'Recipe that the scripted planner plays; empty: none.')
    output_dir: str = parameter('', 'Folder of a run whose goal names none; empty: runs/<run id>.')
    overwrite: bool = parameter(False, 'Replace an earlier run in the same folder.')
    autorun: bool = parameter(False, 'Start a run at once.')
    exit_when_done: bool = parameter(False, 'End the process after that run.')
    use_vla: bool = parameter(True, 'Offer the tools that need a vla node.')
    use_segmenter: bool = parameter(True, 'Offer the tool that needs a segmenter node.')
    record: bool = parameter(True, 'Have the recorder write a bag of every run.')
    max_tool_calls: int = parameter(100, 'Tool calls of one run; 0: no limit.', low=0)
    max_seconds: float = parameter(
        1200.0, 'Wall-clock time of one run [s]; 0.0: no limit.', low=0.0
    )
    max_turns: int = parameter(200, 'Answers of the language model; 0: no limit.', low=0)
    max_tokens: int = parameter(5_000_000, 'Tokens that it may take; 0: no limit.', low=0)
    max_usd: float = parameter(5.0, 'US dollars that these may cost; 0.0: no limit.', low=0.0)
    max_idle_calls: int = parameter(
        20, 'Tool calls without motion until the planner is told; at twice as many the run ends; '
        '0: no limit.', low=0,
    )  # fmt: skip
    max_repeats: int = parameter(
        3, 'Times that a call may fail in the same way until the planner is told; at twice as '
        'many the run ends; 0: no limit.', low=0,
    )  # fmt: skip
    max_output_tokens: int = parameter(16_000, 'Longest answer of the model [tokens].', low=1)
    request_timeout_s: float = parameter(
        120.0, 'Longest silence while an answer of the model is awaited [s].', low=1.0
    )
    max_retries: int = parameter(
        6, 'How often a request is made again that failed for a passing reason.', low=0
    )
    images_kept: int = parameter(12, 'Pictures that the model keeps seeing.', low=1)
    image_bytes_kept: int = parameter(
        8_000_000, 'Size of these pictures together [bytes].', low=1
    )
    mcp_port: int = parameter(
        0, 'Port for MCP clients on 127.0.0.1; 0: a free one.', low=0, high=65535
    )
    interactive: bool = parameter(False, 'Somebody sits at a terminal and steers the planner.')
    image_size: int = parameter(
        -1, "Longer side of planners' pictures [px]; 0: as policies see; -1: robot's default.",
        low=-1,
        high=2000,
    )
    text_only: bool = parameter(False, 'Give planners words and numbers in place of pictures.')
    memory_dirs: tuple[str, ...] = parameter(
        (), 'Folders that the file tools may use besides the run, <folder> or <folder>:ro.',
        element=str,
    )
    wait_s: float = parameter(
        120.0, 'How long to wait for driver, vla and recorder to appear [s].', low=0.0
    )

    @property
    def root(self) -> pathlib.Path:
        """Where folders go that nobody named."""
        return pathlib.Path(self.output_dir).parent if self.output_dir else pathlib.Path('runs')

    @property
    def options(self) -> ToolOptions:
        """What the tools give to planners."""
        return ToolOptions(
            image_size=None if self.image_size < 0 else self.image_size,
            text_only=self.text_only,
            memory_dirs=tuple(self.memory_dirs),
        )

    @property
    def limits(self) -> Limits:
        """What planners may spend."""
        return Limits(**_values(self, Limits))

    @property
    def llm(self) -> LlmOptions:
        """The language model."""
        return LlmOptions(**_values(self, LlmOptions))

    def config(self, goal: RunTask.Goal) -> RunConfig:
        """The run that a goal asks for, with these parameters for what it leaves open.

        Raises:
          InvalidRequest: a value makes no sense.
        """
        suite = goal.suite or self.suite
        task = self.task if goal.task < 0 else goal.task
        seed = self.seed if goal.seed < 0 else goal.seed
        run_id = run_dir.new_run_id(run_dir.recipe_tag(suite, task, seed))
        return RunConfig(
            self.robot,
            suite=suite,
            task=task,
            seed=seed,
            output_dir=goal.output_dir or self.output_dir or str(self.root / run_id),
            overwrite=self.overwrite,
            run_id=run_id,
            instruction=goal.instruction or self.instruction,
            cerebrum=goal.cerebrum or self.cerebrum,
            recipe=self.recipe,
            llm=self.llm,
            limits=self.limits,
            options=self.options,
        )


def _values(parameters: AgentParameters, cls: type[Any]) -> dict[str, Any]:
    """The parameters that have the names of a dataclass's fields."""
    return {field.name: getattr(parameters, field.name) for field in dataclasses.fields(cls)}
