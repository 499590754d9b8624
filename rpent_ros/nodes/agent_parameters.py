"""Parameters of the agent node, and the runs that they describe."""

from __future__ import annotations

import dataclasses
import pathlib

from rpent_msgs.action import RunTask
from rpent_ros import run_dir
from rpent_ros.nodes.parameters import parameter
from rpent_ros.run import RunConfig
from rpent_ros.session import Limits
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
            limits=Limits(self.max_tool_calls, self.max_seconds),
            options=self.options,
        )
