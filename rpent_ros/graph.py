"""The one description of the graph: which processes, with which parameters.

The supervisor (rpent_ros.cli) and the launch files (launch/) both start what `describe` returns,
so they cannot drift apart.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
import sys
from collections.abc import Mapping
from typing import Any

import yaml

from rpent_ros.cerebrums.options import LlmOptions
from rpent_ros.cerebrums.registry import SCRIPTED, check_name, check_ready
from rpent_ros.errors import BadRecipe, InvalidRequest, UnknownTask
from rpent_ros.parameter_files import config_dir, load_parameters
from rpent_ros.policies.registry import PRIVILEGED_POLICIES, known_policies
from rpent_ros.robot import EnvSpec, load_robot_package
from rpent_ros.segmentation.registry import PRIVILEGED_SEGMENTERS, known_segmenters
from rpent_ros.tools.options import ToolOptions
from rpent_ros.tools.text_files import MemoryDir, TextFiles

NODES = ('driver', 'vla', 'segmenter', 'recorder', 'agent')
# How long a process may take until it serves [s]: loading a model can take minutes.
_READY_TIMEOUT_S = {
    'driver': 180.0, 'vla': 900.0, 'segmenter': 900.0, 'recorder': 60.0, 'agent': 60.0,
}  # fmt: skip
# How long the recorder may take to close a large bag after a run that went well [s].
_CLOSING_S = 60.0
# What a planner may spend, as far as it is chosen per run.
LIMITS = ('max_tool_calls', 'max_seconds', 'max_turns', 'max_tokens', 'max_usd')
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_LARGEST_SEED = 2**32 - 1


@dataclasses.dataclass(frozen=True)
class Process:
    """One process of the graph: one node.

    Attributes:
      name: name of the node and of its log file.
      module: what `python -m` runs.
      namespace: ROS namespace, absolute.
      parameters: every parameter that differs from the node's own default.
      after: processes that must be ready before this one starts.
      ready_timeout: how long it may take until it serves [s].
      ends_run: when this process ends, the run has ended.
      patience: how long it may take to end after a run that went well [s]; 0.0: the usual time.
    """

    name: str
    _: dataclasses.KW_ONLY
    module: str
    namespace: str
    parameters: Mapping[str, Any]
    after: tuple[str, ...] = ()
    ready_timeout: float
    ends_run: bool = False
    patience: float = 0.0

    def argv(self, parameter_file: pathlib.Path) -> tuple[str, ...]:
        """Command line; the parameters are read from `parameter_file`."""
        return (
            sys.executable, '-m', self.module, '--ros-args',
            '-r', f'__node:={self.name}',
            '-r', f'__ns:={self.namespace}',
            '--params-file', str(parameter_file),
        )  # fmt: skip

    def parameter_text(self) -> str:
        """The parameters as a ROS parameter file."""
        document = {f'{self.namespace.rstrip("/")}/{self.name}': {
            'ros__parameters': dict(self.parameters)
        }}  # fmt: skip
        return str(yaml.safe_dump(document, sort_keys=True, allow_unicode=True))


@dataclasses.dataclass(frozen=True)
class GraphConfig:
    """What a person chooses about a graph; everything else is in the parameter files.

    Attributes:
      robot: robot package.
      suite: task suite; '' takes the one of the robot's parameter file.
      task, seed: the episode.
      instruction: sentence for the planner; '' for the task's own.
      cerebrum: planner.
      recipe: recipe file for the scripted planner; '' for none.
      model, base_url, effort: language model of the planner, where its provider answers, how
        much it thinks; '' for the defaults.
      mcp_port: port for MCP clients on 127.0.0.1; None leaves it to the files.
      vla: policy; '' for the robot's default, 'none' for no vla node.
      vla_endpoint: address of a model server that already runs; '' for none.
      segmenter: what finds things in images; 'none' for no segmenter node.
      output_dir: folder of the run; '' lets the agent choose one per run.
      overwrite: replace an earlier run there.
      namespace: ROS namespace; '' for the robot's name.
      camera_rate: highest rate of each camera topic [Hz]; None leaves it to the parameter files.
      record: write a bag.
      autorun: start the run at once and end when it has ended.
      physics: how the simulator computes; '' leaves it to the parameter files.
      image_size: longer side of the planner's pictures [px]; None leaves it to the files.
      text_only: give the planner words and numbers in place of pictures.
      memory_dirs: folders that the file tools may use besides the run.
      max_tool_calls, max_seconds, max_turns, max_tokens, max_usd: what the planner may spend; None
        leaves it to the files.
      params_file: one more ROS parameter file, read after the robot's; '' for none.
      parameters: parameters by node that beat the files, but not what is chosen above.
    """

    robot: str
    _: dataclasses.KW_ONLY
    suite: str = ''
    task: int = 0
    seed: int = 0
    instruction: str = ''
    cerebrum: str = 'scripted'
    recipe: str = ''
    model: str = ''
    base_url: str = ''
    effort: str = ''
    mcp_port: int | None = None
    vla: str = ''
    vla_endpoint: str = ''
    segmenter: str = 'classical'
    output_dir: str = ''
    overwrite: bool = False
    namespace: str = ''
    camera_rate: float | None = None
    record: bool = True
    autorun: bool = True
    physics: str = ''
    image_size: int | None = None
    text_only: bool = False
    memory_dirs: tuple[str, ...] = ()
    max_tool_calls: int | None = None
    max_seconds: float | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    max_usd: float | None = None
    params_file: str = ''
    parameters: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise InvalidRequest(f'seed: expected 0 to {_LARGEST_SEED}, got {self.seed}')
        check_name(self.cerebrum)
        if self.recipe and self.cerebrum != SCRIPTED:
            raise InvalidRequest(
                f'recipe: only the scripted cerebrum plays recipes, got cerebrum {self.cerebrum}'
            )
        if self.recipe and not pathlib.Path(self.recipe).expanduser().is_file():
            raise BadRecipe(f'recipe {self.recipe}: no such file')
        for name in ('model', 'base_url', 'effort'):
            if getattr(self, name) and self.cerebrum == SCRIPTED:
                raise InvalidRequest(
                    f'{name}: the scripted cerebrum uses no language model, got '
                    f'{getattr(self, name)!r}; choose one that does with cerebrum'
                )
        if self.params_file and not pathlib.Path(self.params_file).expanduser().is_file():
            raise InvalidRequest(f'params_file {self.params_file}: no such file')
        parts = [part for part in self.namespace.split('/') if part]
        if not all(_NAME.fullmatch(part) for part in parts):
            raise InvalidRequest(
                'namespace: expected names of letters, digits and underscores separated by /, '
                f'got {self.namespace!r}'
            )
        if self.camera_rate is not None and not 0 < self.camera_rate < math.inf:
            raise InvalidRequest(f'camera_rate: expected above 0 Hz, got {self.camera_rate}')
        ToolOptions(image_size=self.image_size, memory_dirs=self.memory_dirs)
        for name in LIMITS:
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise InvalidRequest(f'{name}: expected 0 or above, got {value}')

    @property
    def absolute_namespace(self) -> str:
        """The namespace with its leading slash."""
        return '/' + (self.namespace.strip('/') or self.robot)


def describe(config: GraphConfig) -> tuple[Process, ...]:
    """The processes of a graph, in the order in which they may be started.

    Raises:
      InvalidRequest: unknown robot or policy.
      UnknownTask: the robot can tell that the suite or the task does not exist.
    """
    spec: EnvSpec = load_robot_package(config.robot).get_env_spec()
    layers = [spec.parameters] if spec.parameters is not None else []
    layers += [pathlib.Path(config.params_file).expanduser()] if config.params_file else []
    from_files = {
        name: load_parameters([config_dir() / f'{name}.yaml', *layers], name)
        | dict(config.parameters.get(name, {}))
        for name in NODES
    }
    suite = config.suite or str(from_files['driver'].get('suite', ''))
    check_task(spec, suite, config.task)
    policy = config.vla or spec.default_policy
    policies = (*known_policies(), *spec.policies, 'none')
    if policy not in policies:
        raise InvalidRequest(f'unknown vla {policy!r}; known policies: {", ".join(policies)}')
    with_vla = policy != 'none'
    segmenters = (*known_segmenters(), 'none')
    if config.segmenter not in segmenters:
        raise InvalidRequest(
            f'unknown segmenter {config.segmenter!r}; known segmenters: {", ".join(segmenters)}'
        )
    with_segmenter = config.segmenter != 'none'
    absolute = _absolute(config.output_dir)
    chosen: dict[str, dict[str, Any]] = {
        'driver': {
            'robot': config.robot,
            'suite': suite,
            'task': config.task,
            'privileged': policy in PRIVILEGED_POLICIES
            or config.segmenter in PRIVILEGED_SEGMENTERS,
            'camera_rate': config.camera_rate,
            'physics': config.physics or None,
            'state_log_dir': str(pathlib.Path(absolute) / 'sim_states') if absolute else None,
        },
        'vla': {
            'robot': config.robot,
            'policy': policy,
            'endpoint': config.vla_endpoint or None,
        },
        'segmenter': {'backend': config.segmenter},
        'recorder': {},
        'agent': {
            'robot': config.robot,
            'suite': suite,
            'task': config.task,
            'seed': config.seed,
            'instruction': config.instruction or None,
            'cerebrum': config.cerebrum,
            'recipe': _absolute(config.recipe) or None,
            'model': config.model or None,
            'base_url': config.base_url or None,
            'effort': config.effort or None,
            'mcp_port': config.mcp_port,
            'output_dir': absolute or None,
            'overwrite': config.overwrite,
            'record': config.record,
            'use_vla': with_vla,
            'use_segmenter': with_segmenter,
            'autorun': config.autorun,
            'exit_when_done': config.autorun,
            'image_size': config.image_size,
            'text_only': config.text_only or None,
            'memory_dirs': _memory_dirs(config) or None,
            **{name: _limit(config, name) for name in LIMITS},
        },
    }
    parameters = {
        name: from_files[name]
        | {key: value for key, value in chosen[name].items() if value is not None}
        for name in NODES
    }
    _check_planner(parameters['agent'])
    peers = ['driver', *(['vla'] if with_vla else []), *(['recorder'] if config.record else [])]
    # A planner can begin without a segmenter: it may never ask for it, and loading takes time.
    others = ['segmenter'] if with_segmenter else []
    return tuple(
        Process(
            name,
            module=f'rpent_ros.nodes.{name}',
            namespace=config.absolute_namespace,
            parameters=parameters[name],
            after=tuple(peers) if name == 'agent' else (),
            ready_timeout=_READY_TIMEOUT_S[name],
            ends_run=name == 'agent',
            patience=_CLOSING_S if name == 'recorder' else 0.0,
        )
        for name in (*peers, *others, 'agent')
    )


def describe_replay(config: GraphConfig, recording: pathlib.Path) -> tuple[Process, ...]:
    """The processes that play the actions of a logged episode: a driver, and who commands it.

    Args:
      config: the graph; of what a person chooses, planner and policy do not matter here.
      recording: file of simulator states.

    Raises:
      RpentError: as `describe`.
    """
    driver = describe(dataclasses.replace(config, vla='none', segmenter='none', record=False))[0]
    replayer = Process(
        'replayer',
        module='rpent_ros.nodes.replayer',
        namespace=driver.namespace,
        parameters={
            'robot': config.robot,
            'recording': str(recording),
            'output_dir': _absolute(config.output_dir),
        },
        after=('driver',),
        ready_timeout=_READY_TIMEOUT_S['agent'],
        ends_run=True,
    )
    return driver, replayer


def check_task(spec: EnvSpec, suite: str, task: int) -> None:
    """Refuse a task that does not exist, if the robot can tell without being built.

    Raises:
      UnknownTask: the message lists what there is.
    """
    if task < 0:
        raise UnknownTask(f'task: expected 0 or above, got {task}')
    suites = spec.suites() if spec.suites is not None else None
    if suites is None:
        return
    if suite not in suites:
        raise UnknownTask(f'unknown suite {suite!r}; known suites: {", ".join(suites)}')
    if task >= suites[suite]:
        raise UnknownTask(
            f'suite {suite}: expected a task from 0 to {suites[suite] - 1}, got {task}'
        )


def _memory_dirs(config: GraphConfig) -> list[str]:
    """The memory folders, absolute, since the nodes may run elsewhere.

    Raises:
      InvalidRequest: one does not exist, or two have the same name.
    """
    parsed = [MemoryDir.parse(text) for text in config.memory_dirs]
    TextFiles(pathlib.Path(), parsed)
    return [memory.text for memory in parsed]


def _limit(config: GraphConfig, name: str) -> float | None:
    """A limit in the type of its parameter."""
    value = getattr(config, name)
    return float(value) if value is not None and name in ('max_seconds', 'max_usd') else value


def _check_planner(parameters: Mapping[str, Any]) -> None:
    """Refuse a planner that cannot work here.

    Raises:
      RpentError: what is missing, and how to get it.
    """
    names = [field.name for field in dataclasses.fields(LlmOptions)]
    llm = LlmOptions(**{name: parameters[name] for name in names if name in parameters})
    check_ready(str(parameters['cerebrum']), llm)


def _absolute(path: str) -> str:
    return str(pathlib.Path(path).expanduser().absolute()) if path else ''
