"""The LIBERO toolkit: the manipulator's tools with the Panda's measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rpent_ros.primitives.hand import Hand
from rpent_ros.primitives.manipulation import ManipulationPrimitives
from rpent_ros.primitives.settings import ManipulationSettings
from rpent_ros.tools.definitions import manipulation_tools
from rpent_ros.tools.dump import dump_state
from rpent_ros.tools.manipulation import ManipulationToolkit

__all__ = ['CAMERAS', 'TOOLS', 'TOOLS_SPEC', 'LiberoPrimitives', 'LiberoToolkit', 'dump_state']

CAMERAS = ('agentview', 'wrist')

TOOLS = manipulation_tools(CAMERAS)
# What language models see: name, description and input_schema of each tool.
TOOLS_SPEC = [tool.spec() for tool in TOOLS]


class LiberoPrimitives(ManipulationPrimitives):
    """The moving tools, one method each.

    The Panda's fingers are 0.08 m apart when open; the thinnest object is a bowl's rim of 4 mm.
    An empty hand passes 2.5 mm with 1.2 N when its fingers have become slow, and ends at 1.0 mm
    with 0.5 N.
    From its initial pose the arm comes down by 0.08 m only to what stands on a cabinet.
    """

    default_settings = ManipulationSettings(
        min_descent=0.05,
        min_lift=0.05,
        min_grasp_width=0.003,
        max_grasp_width=0.07,
        min_grasp_effort=1.5,
        approach_height=0.10,
        # The Franka hand as robosuite models it, relative to `grip_site`; it closes along x.
        hand=Hand(),
    )


class LiberoToolkit(ManipulationToolkit):
    """Tools for LIBERO scenes.  Arguments as `ManipulationToolkit`."""

    def __init__(self, *, primitives_kwargs: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(
            primitives_kwargs=primitives_kwargs,
            tools=TOOLS,
            primitives=LiberoPrimitives,
            **kwargs,
        )
