"""A robot's toolkit for one run folder, from the clients of the nodes."""

from __future__ import annotations

import pathlib
from types import ModuleType
from typing import Any

from rpent_ros.contracts.specs import DriverSpec, PolicySpec
from rpent_ros.ports import EnvClient, SegmenterClient, VlaClient
from rpent_ros.tools.manipulation import ManipulationToolkit
from rpent_ros.tools.options import ToolOptions
from rpent_ros.tools.text_files import MemoryDir


def build_toolkit(
    package: ModuleType,
    *,
    env: EnvClient,
    spec: DriverSpec,
    vla: VlaClient | None,
    policy: PolicySpec | None,
    segmenter: SegmenterClient | None,
    options: ToolOptions,
    output_dir: pathlib.Path,
    **kwargs: Any,
) -> ManipulationToolkit:
    """Build the toolkit; the driver has been reset.

    Args:
      package: the robot package.
      env: the driver.
      spec: what it offers.
      vla: the policy; None: no learned skills.
      policy: what it needs; None with `vla`.
      segmenter: finds things in images; None: not offered.
      options: what the planner is given.
      output_dir: the run folder.
      **kwargs: to the toolkit: on_dump, should_stop.

    Raises:
      InvalidRequest: a memory folder does not exist.
    """
    toolkit: ManipulationToolkit = package.get_toolkit(
        primitives_kwargs={
            'env': env,
            'spec': spec,
            'model': vla,
            'policy': policy,
            'image_size': options.image_size,
        },
        output_dir=output_dir,
        segmenter=segmenter,
        text_only=options.text_only,
        memory_dirs=tuple(MemoryDir.parse(text) for text in options.memory_dirs),
        **kwargs,
    )
    return toolkit
