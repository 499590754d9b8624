"""The graph as actions of a launch file, for machines with launch_ros.

Declared arguments become a `GraphConfig`; what `rpent_ros.graph.describe` says of it is started.
The launch ends by itself when the agent does, and as soon as any other node does.
"""

from __future__ import annotations

import datetime
import os
import pathlib
import signal
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from launch import LaunchContext
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.events.process import ProcessExited
from launch.substitutions import EnvironmentVariable, LaunchConfiguration
from launch_ros.actions import Node

from rpent_ros.ending import Outcome, conclude, summary_lines
from rpent_ros.errors import InvalidRequest
from rpent_ros.graph import GraphConfig, Process, describe
from rpent_ros.parameter_files import config_dir
from rpent_ros.run_dir import recipe_tag

T = TypeVar('T')

# Seconds from SIGINT to SIGTERM and from there to SIGKILL; together under five.
_SIGTERM_AFTER, _SIGKILL_AFTER = '3', '1'

# Argument: default and description.
_ARGUMENTS = {
    'suite': ('', "Task suite; empty: the robot's first."),
    'task': ('0', 'Task of the suite.'),
    'seed': ('0', 'Initial state of the episode.'),
    'instruction': ('', "Sentence for the planner; empty: the task's own."),
    'cerebrum': ('scripted', 'Planner: scripted, api or mcp.'),
    'recipe': ('', 'File of tool calls that the scripted planner plays; empty: none.'),
    'model': ('', "Language model of the planner; empty: the planner's default."),
    'base_url': ('', "Where the model's provider answers; empty: the vendor's address."),
    'effort': ('', 'How much the model thinks: low, medium, high, max; empty: its default.'),
    'mcp_port': ('', 'Port for MCP clients on 127.0.0.1; empty: see agent.yaml.'),
    'vla': ('', "Policy; none: no vla node; empty: the robot's default."),
    'vla_endpoint': ('', 'Address of a model server that already runs; empty: none.'),
    'segmenter': ('classical', 'What finds things in images; none: no segmenter node.'),
    'output_dir': ('', 'Folder for everything; empty: runs/<time>_<task>.'),
    'overwrite': ('false', 'Replace an earlier run in that folder.'),
    'namespace': ('', "ROS namespace; empty: the robot's name."),
    'cameras': ('', 'Highest rate of each camera topic that is listened to [Hz].'),
    'record': ('true', 'Write a rosbag.'),
    'autorun': ('true', 'Start the run at once, and end when it has ended.'),
    'physics': ('', "How the simulator computes; empty: the robot's default."),
    'image_size': ('', "Longer side of the planner's pictures [px]; empty: see agent.yaml."),
    'text_only': ('false', 'Give the planner words and numbers in place of pictures.'),
    'memory_dirs': ('', 'Folders for the file tools besides the run, separated by commas.'),
    'max_tool_calls': ('', 'End the run after that many tool calls; empty: see agent.yaml.'),
    'max_seconds': ('', 'End the run after that many seconds; empty: see agent.yaml.'),
    'max_turns': ('', 'End the run after that many answers of the model; empty: see agent.yaml.'),
    'max_tokens': ('', 'End the run after that many tokens; empty: see agent.yaml.'),
    'max_usd': ('', 'End the run after that many US dollars; empty: see agent.yaml.'),
    'params_file': ('', 'ROS parameter file that beats the others; empty: none.'),
    'rviz': ('false', 'Show cameras and frames in rviz.'),
    'python': ('python3', "Interpreter that has the robot's packages."),
}


def graph_actions(robot: str, **defaults: str) -> list[Any]:
    """Everything that a launch file of one robot needs.

    Args:
      robot: robot package.
      **defaults: replace defaults of arguments.
    """
    declared = [
        DeclareLaunchArgument(
            name, default_value=defaults.get(name, default), description=description
        )
        for name, (default, description) in _ARGUMENTS.items()
    ]
    return [
        *declared,
        # Nothing leaves this machine unless the user says so.
        SetEnvironmentVariable(
            'ROS_AUTOMATIC_DISCOVERY_RANGE',
            EnvironmentVariable('ROS_AUTOMATIC_DISCOVERY_RANGE', default_value='LOCALHOST'),
        ),
        LogInfo(msg=['ROS_DOMAIN_ID ', EnvironmentVariable('ROS_DOMAIN_ID', default_value='0')]),
        OpaqueFunction(function=lambda context: _start(context, robot)),
    ]


def _start(context: LaunchContext, robot: str) -> list[Any]:
    values = {name: LaunchConfiguration(name).perform(context) for name in _ARGUMENTS}
    config = config_from(robot, values)
    processes = describe(config)
    ending = _Ending(config, len(processes))
    nodes = [_node(process, values['python']) for process in processes]
    handlers = [
        RegisterEventHandler(OnProcessExit(target_action=node, on_exit=ending.handler(process)))
        for node, process in zip(nodes, processes, strict=True)
    ]
    rviz = Node(
        package='rviz2',
        executable='rviz2',
        arguments=['-d', str(config_dir() / f'{robot}.rviz')],
        condition=IfCondition(LaunchConfiguration('rviz')),
    )
    return [*handlers, *nodes, rviz]


def config_from(robot: str, values: dict[str, str]) -> GraphConfig:
    """The graph that launch arguments describe.

    Raises:
      InvalidRequest: a value has the wrong form.
    """
    autorun = _flag('autorun', values['autorun'])
    task, seed = _whole('task', values['task']), _whole('seed', values['seed'])
    output_dir = values['output_dir']
    if autorun and not output_dir:
        now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
        tag = recipe_tag(values['suite'] or robot, task, seed)
        output_dir = str(pathlib.Path('runs') / f'{now}_{tag}')
    same = ('suite', 'instruction', 'cerebrum', 'recipe', 'model', 'base_url', 'effort', 'vla',
            'vla_endpoint', 'segmenter', 'namespace', 'physics', 'params_file')  # fmt: skip
    texts: dict[str, Any] = {name: values[name] for name in same}
    return GraphConfig(
        robot,
        task=task,
        seed=seed,
        output_dir=output_dir,
        overwrite=_flag('overwrite', values['overwrite']),
        camera_rate=_optional(_number, 'cameras', values['cameras']),
        record=_flag('record', values['record']),
        autorun=autorun,
        image_size=_optional(_whole, 'image_size', values['image_size']),
        text_only=_flag('text_only', values['text_only']),
        memory_dirs=tuple(text for text in values['memory_dirs'].split(',') if text),
        max_tool_calls=_optional(_whole, 'max_tool_calls', values['max_tool_calls']),
        max_seconds=_optional(_number, 'max_seconds', values['max_seconds']),
        max_turns=_optional(_whole, 'max_turns', values['max_turns']),
        max_tokens=_optional(_whole, 'max_tokens', values['max_tokens']),
        max_usd=_optional(_number, 'max_usd', values['max_usd']),
        mcp_port=_optional(_whole, 'mcp_port', values['mcp_port']),
        **texts,
    )


def _node(process: Process, python: str) -> Node:
    return Node(
        executable=python,
        arguments=['-m', process.module],
        exec_name=process.name,
        name=process.name,
        namespace=process.namespace,
        parameters=[dict(process.parameters)],
        output='both',
        # A node notices when the launch itself is killed, and ends.
        additional_env={'RPENT_PARENT_WATCH': str(os.getpid())},
        sigterm_timeout=_SIGTERM_AFTER,
        sigkill_timeout=_SIGKILL_AFTER,
    )


class _Ending:
    """Ends the launch with the first process that ends, and the run's folder with the last."""

    def __init__(self, config: GraphConfig, processes: int) -> None:
        self._config = config
        self._running = processes
        self._failure = ''
        self._returncode: int | None = None

    def handler(self, process: Process) -> Callable[[ProcessExited, LaunchContext], Any]:
        """What to do when that process has ended."""
        return lambda event, context: self._on_exit(process, event, context)

    def _on_exit(
        self, process: Process, event: ProcessExited, context: LaunchContext
    ) -> Sequence[Any]:
        self._running -= 1
        first = not context.is_shutdown and not self._failure
        if first and process.ends_run:
            self._returncode = event.returncode
        elif first:
            self._failure = f'{process.name} {_how(event.returncode)}'
        if not self._running:
            self._conclude()
        if first and (self._failure or self._returncode):
            # Raising is how a launch file makes `ros2 launch` end with an exit code of 1.
            raise RuntimeError(self._failure or f'the run ended with {self._returncode}')
        return [Shutdown(reason='the run has ended')] if first else []

    def _conclude(self) -> None:
        if not self._config.autorun:
            return
        folder = pathlib.Path(self._config.output_dir).absolute()
        interrupted = self._returncode is None and not self._failure
        outcome = Outcome(self._returncode, interrupted=interrupted, failure=self._failure)
        for line in summary_lines(folder, conclude(folder, outcome)):
            print(line, flush=True)


def _how(returncode: int) -> str:
    if returncode < 0:
        return f'was killed by {signal.Signals(-returncode).name}'
    return f'ended with {returncode}'


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ('true', 'false'):
        raise InvalidRequest(f'{name}: expected true or false, got {text!r}')
    return text.lower() == 'true'


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidRequest(f'{name}: expected an integer, got {text!r}') from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidRequest(f'{name}: expected a number, got {text!r}') from None


def _optional(read: Callable[[str, str], T], name: str, text: str) -> T | None:
    return read(name, text) if text else None
