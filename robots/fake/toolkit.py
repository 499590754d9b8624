"""The fake robot's toolkit: the manipulator's tools with its own measures."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from rpent_ros.ports import ShouldStop
from rpent_ros.primitives.manipulation import ManipulationPrimitives, never
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.definitions import manipulation_tools
from rpent_ros.tools.dump import dump_state
from rpent_ros.tools.manipulation import ManipulationToolkit, OnDump

__all__ = ['CAMERAS', 'TOOLS_SPEC', 'FakePrimitives', 'FakeToolkit', 'dump_state']

CAMERAS = ('agentview', 'wrist')

# What language models see: name, description and input_schema of each tool.
TOOLS_SPEC = manipulation_tools(CAMERAS)


class FakePrimitives(ManipulationPrimitives):
    """The moving tools, one method each.  All cubes are 0.04 m wide."""

    default_settings = ManipulationSettings(min_grasp_width=0.03, max_grasp_width=0.05)


class FakeToolkit(ManipulationToolkit):
    """Tools for cubes on a table.  Arguments as `ManipulationToolkit`."""

    def __init__(
        self,
        *,
        primitives_kwargs: Mapping[str, Any],
        output_dir: pathlib.Path | str,
        on_dump: OnDump | None = None,
        should_stop: ShouldStop = never,
    ) -> None:
        super().__init__(
            primitives_kwargs=primitives_kwargs,
            specs=TOOLS_SPEC,
            output_dir=output_dir,
            primitives=FakePrimitives,
            on_dump=on_dump,
            should_stop=should_stop,
        )
