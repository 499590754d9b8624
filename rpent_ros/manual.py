"""Tools called by hand, without a run: the same toolkit, a folder of their own."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from rpent_ros import run_dir
from rpent_ros.contracts.specs import PolicySpec
from rpent_ros.errors import NotReset, RpentError
from rpent_ros.ports import EnvClient, SegmenterClient, VlaClient
from rpent_ros.robot import load_robot_package
from rpent_ros.tools.build import build_toolkit
from rpent_ros.tools.manipulation import ManipulationToolkit, OnDump
from rpent_ros.tools.options import ToolOptions
from rpent_ros.tools.result import ToolResult


class ManualTools:
    """Builds the toolkit at the first call and keeps it.

    A driver that was never reset is reset first; otherwise the scene is left as it is, so that a
    person can go on where a run ended.

    Args:
      robot: robot package.
      suite, task, seed: episode to start if the driver has none yet.
      root: folder in which `<time>_manual_...` is made for the dumps.
      env, vla: the driver and the policy; vla None: no learned tools.
      segmenter: finds things in images; None: not offered.
      options: what the caller is given.
      on_dump: called with every state dump.
    """

    def __init__(
        self,
        robot: str,
        *,
        suite: str,
        task: int,
        seed: int,
        root: pathlib.Path,
        env: EnvClient,
        vla: VlaClient | None,
        segmenter: SegmenterClient | None = None,
        options: ToolOptions | None = None,
        on_dump: OnDump | None = None,
    ) -> None:
        self._robot = robot
        self._suite, self._task, self._seed = suite, task, seed
        self._root = root
        self._env = env
        self._vla = vla
        self._segmenter = segmenter
        self._options = options or ToolOptions()
        self._on_dump = on_dump
        self._toolkit: ManipulationToolkit | None = None

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run a tool; setting up may fail, which is a result too."""
        try:
            return self.toolkit.call(name, arguments)
        except RpentError as error:
            return ToolResult.refused(error)

    @property
    def toolkit(self) -> ManipulationToolkit:
        """The toolkit, built on first use.

        Raises:
          RpentError: the driver or the policy does not answer, or the folder cannot be made.
        """
        if self._toolkit is None:
            self._toolkit = self._build()
        return self._toolkit

    def cancel(self) -> None:
        """Stop the tool that is running, if one is."""
        if self._toolkit is not None:
            self._toolkit.cancel()

    def forget(self) -> None:
        """Build a new toolkit at the next call: a run has changed the scene."""
        if self._toolkit is not None:
            self._toolkit.close()
            self._toolkit = None

    def _build(self) -> ManipulationToolkit:
        package = load_robot_package(self._robot)
        spec = self._env.describe()
        policy: PolicySpec | None = self._vla.describe() if self._vla is not None else None
        try:
            fresh = self._env.observe().episode == 0
        except NotReset:
            fresh = True
        if fresh:
            self._env.reset(suite=self._suite, task=self._task, seed=self._seed)
        folder = run_dir.create(self._root / run_dir.new_run_id('manual'), 'manual')
        return build_toolkit(
            package,
            env=self._env,
            spec=spec,
            vla=self._vla,
            policy=policy,
            segmenter=self._segmenter,
            options=self._options,
            output_dir=folder.path,
            on_dump=self._on_dump,
        )
