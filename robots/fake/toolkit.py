"""The fake robot's toolkit: the manipulator's tools with its own measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpent_ros.primitives.hand import Hand
from rpent_ros.primitives.manipulation import ManipulationPrimitives
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.definitions import manipulation_tools
from rpent_ros.tools.dump import dump_state
from rpent_ros.tools.manipulation import ManipulationToolkit

__all__ = ['CAMERAS', 'TOOLS', 'TOOLS_SPEC', 'FakePrimitives', 'FakeToolkit', 'dump_state']

CAMERAS = ('agentview', 'wrist')

TOOLS = manipulation_tools(CAMERAS)
# What language models see: name, description and input_schema of each tool.
TOOLS_SPEC = [tool.spec() for tool in TOOLS]


class FakePrimitives(ManipulationPrimitives):
    """The moving tools, one method each.  All cubes are 0.04 m wide."""

    default_settings = ManipulationSettings(
        min_grasp_width=0.03,
        max_grasp_width=0.05,
        hand=Hand(
            half_length=0.06, half_width=0.02, fingers_end=0.05, palm_above=0.05, depth=0.02,
            closing_axis='y',
        ),
    )  # fmt: skip


class FakeToolkit(ManipulationToolkit):
    """Tools for cubes on a table.  Arguments as `ManipulationToolkit`."""

    def __init__(self, *, primitives_kwargs: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(
            primitives_kwargs=primitives_kwargs,
            tools=TOOLS,
            primitives=FakePrimitives,
            **kwargs,
        )
