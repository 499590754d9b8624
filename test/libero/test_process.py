"""What the driver's process does with its surroundings: imports, files, output, OpenGL."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from robots.libero.arena import arena_of, limits_of
from robots.libero.env_server import LiberoRobot
from robots.libero.suites import find_task, suites
from rpent_ros.driver import DriverCore

pytestmark = pytest.mark.libero


def run(code: str, home: pathlib.Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python with an empty home folder and no standard input."""
    return subprocess.run(
        [sys.executable, '-c', code],
        env={**os.environ, 'HOME': str(home), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )


def test_listing_suites_loads_no_simulator(tmp_path: pathlib.Path) -> None:
    done = run(
        'import sys\n'
        'from rpent_ros.robot import load_robot_package\n'
        'spec = load_robot_package("libero").get_env_spec()\n'
        'print(spec.suites()["libero_10"], spec.make_robot({}).spec.robot)\n'
        'print([m for m in ("mujoco", "robosuite", "numba", "OpenGL") if m in sys.modules])\n',
        tmp_path,
    )
    assert done.stdout == '10 libero\n[]\n'


def test_an_episode_prints_nothing_and_leaves_no_files(tmp_path: pathlib.Path) -> None:
    # The robot is not closed: an exit must be quiet all the same.
    done = run(
        'from robots.libero.env_server import LiberoRobot\n'
        'robot = LiberoRobot()\n'
        'robot.reset(suite="", task=-1, seed=0)\n'
        'robot.render("wrist", width=64, height=64, depth=True)\n',
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ('', '')
    assert list(tmp_path.iterdir()) == []


def test_without_opengl_only_images_fail(tmp_path: pathlib.Path) -> None:
    """MUJOCO_GL names a backend whose library is made to be missing."""
    done = run(
        'from robots.libero import opengl\n'
        'opengl._LIBRARIES["osmesa"] = ("libNone.so.1",)\n'
        'from robots.libero.env_server import LiberoRobot\n'
        'from rpent_ros.errors import RenderFailed\n'
        'robot = LiberoRobot()\n'
        'robot.reset(suite="", task=-1, seed=0)\n'
        'print(robot.observe().joint_positions.size)\n'
        'try:\n'
        '    robot.render("wrist", width=64, height=64, depth=True)\n'
        'except RenderFailed as error:\n'
        '    print(error)\n',
        tmp_path,
        MUJOCO_GL='osmesa',
        DISPLAY='',
    )
    assert done.stdout == (
        '9\n'
        'no OpenGL context with MUJOCO_GL=osmesa: libNone.so.1 not found; for MUJOCO_GL=egl '
        'install libegl1, libgl1 and libegl-mesa0, for MUJOCO_GL=osmesa libosmesa6 '
        '(Debian, Ubuntu), and see ./rpent doctor\n'
    )


def test_every_listed_task_has_a_problem_and_a_workspace() -> None:
    for suite, count in suites().items():
        for index in range(count):
            task = find_task(suite, index)
            limits = limits_of(arena_of(task))
            assert (limits.workspace_min < limits.workspace_max).all()
    # Registered by the benchmark without the files that it needs.
    assert 'libero_object_env' not in suites()
    assert {'libero_spatial', 'libero_object', 'libero_goal', 'libero_10', 'libero_90'} <= set(
        suites()
    )


def test_the_workspace_follows_the_scene(robot: LiberoRobot) -> None:
    driver = DriverCore(robot, limits=lambda limits: limits)
    driver.reset(suite='libero_object', task=0, seed=0)
    on_floor = driver.spec.limits.workspace_min[2]
    driver.reset(suite='libero_spatial', task=0, seed=0)
    on_table = driver.spec.limits.workspace_min[2]
    assert (on_floor, on_table) == (pytest.approx(-0.06), pytest.approx(0.84))
