"""`rpent doctor`: what each check says, and the exit code."""

import json
import pathlib

import pytest

from rpent_ros import run_dir
from rpent_ros.cli import doctor
from rpent_ros.cli.doctor import Finding
from rpent_ros.versions import version_of_ros


@pytest.mark.parametrize(
    ('environ', 'status', 'line'),
    [
        (
            {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
            'ok',
            'a free ROS domain per run, discovery range LOCALHOST (this machine only)',
        ),
        (
            {'ROS_DOMAIN_ID': '7'},
            'hint',
            'ROS_DOMAIN_ID 7, discovery range SUBNET; every machine on the network can command '
            'the robot',
        ),
        (
            {'ROS_DOMAIN_ID': '300'},
            'problem',
            'ROS_DOMAIN_ID 300, discovery range SUBNET; expected an integer from 0 to 232; set '
            'ROS_DOMAIN_ID anew',
        ),
    ],
)
def test_discovery(environ: dict[str, str], status: str, line: str) -> None:
    finding = doctor.check_discovery(environ)
    assert finding.line() == f'{status:8} discovery    {line}'


@pytest.mark.parametrize(
    ('limit', 'reach', 'expected'),
    [
        ('4194304', 'SUBNET', 'ok       network      net.core.rmem_max 4194304 bytes'),
        (
            '212992',
            'LOCALHOST',
            'ok       network      net.core.rmem_max 212992 bytes (enough on one machine)',
        ),
        (
            '212992',
            'SUBNET',
            'hint     network      net.core.rmem_max 212992 bytes; images between machines: sudo '
            'sysctl -w net.core.rmem_max=4194304',
        ),
    ],
)
def test_socket_buffer(limit: str, reach: str, expected: str, tmp_path: pathlib.Path) -> None:
    setting = tmp_path / 'rmem_max'
    setting.write_text(limit + '\n')
    environ = {'ROS_AUTOMATIC_DISCOVERY_RANGE': reach}
    assert doctor.check_socket_buffer(setting, environ).line() == expected


def usage(free: float) -> object:
    return lambda _: doctor.shutil._ntuple_diskusage(0, 0, int(free))


def test_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr(doctor.shutil, 'disk_usage', usage(2e8))
    assert doctor.check_disk(tmp_path).line() == (
        f'problem  disk         0.2 GB free in {tmp_path}; a run needs up to 1 GB; choose another '
        '--output-dir'
    )
    monkeypatch.setattr(doctor.shutil, 'disk_usage', usage(2e9))
    assert doctor.check_disk(tmp_path).status == 'ok'


def test_small_shared_memory_is_a_hint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(doctor.shutil, 'disk_usage', usage(8e6))
    assert doctor.check_shared_memory(tmp_path).line() == (
        f'hint     memory       8 MB free in {tmp_path}, expected 32 MB and writable; in a '
        'container, start it with --shm-size=512m'
    )


def test_lock_is_read_for_this_python() -> None:
    lock = (
        '# comment\nsome-package==1.2\n'
        "other==1 ; python_full_version < '3.0'\nother==2 ; python_full_version >= '3.0'\n"
        "gone==1 ; python_full_version < '3.0'\n"
    )
    assert doctor.locked_versions(lock) == {'some-package': '1.2', 'other': '2'}


def test_changed_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = doctor.version_of
    monkeypatch.setattr(
        doctor, 'version_of', lambda name: '1.0' if name == 'numpy' else real(name)
    )
    environ = {'RPENT_ACTIVE_VENV': '/venv', 'RPENT_ROS_ORIGIN': 'wheels'}
    monkeypatch.setattr(doctor, 'locked_versions', lambda _: {'numpy': '2.4', 'nowhere': '1'})
    assert doctor.check_environment(environ).line() == (
        'problem  environment  /venv differs from wheels.lock: numpy 1.0, nowhere missing; run '
        './rpent setup'
    )


def test_failing_probe_gives_its_last_line() -> None:
    result, sentence = doctor._probe('rpent_ros.no_such_module')
    assert result is None
    assert sentence.endswith('No module named rpent_ros.no_such_module')


def test_exit_code_and_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = Finding('disk', status='ok', detail='5 GB', values={'free': 5})
    better = Finding('memory', status='hint', detail='8 MB', cure='more')
    monkeypatch.setattr(doctor, 'CHECKS', (lambda: good, lambda: better))
    assert doctor.main(['--json']) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == {
        'ok': True,
        'checks': [
            {'name': 'disk', 'status': 'ok', 'detail': '5 GB', 'cure': '', 'values': {'free': 5}},
            {'name': 'memory', 'status': 'hint', 'detail': '8 MB', 'cure': 'more', 'values': {}},
        ],
    }
    bad = Finding('rendering', status='problem', detail='no EGL', cure='install it')
    monkeypatch.setattr(doctor, 'CHECKS', (lambda: good, lambda: bad))
    assert doctor.main([]) == 3
    first, second, verdict = capsys.readouterr().out.splitlines()
    assert first == 'ok       disk         5 GB'
    assert second == 'problem  rendering    no EGL; install it'
    assert verdict.startswith('1 problem (')


def test_doctor_and_run_yaml_name_the_same_rclpy(monkeypatch):
    wheels = {'ros-rclpy': '7.1.6', 'rclpy': '7.1.5'}
    monkeypatch.setattr('rpent_ros.versions.version_of', wheels.get)
    assert version_of_ros('rclpy') == '7.1.6'
    del wheels['ros-rclpy']
    assert version_of_ros('rclpy') == '7.1.5'
    del wheels['rclpy']
    assert version_of_ros('rclpy') is None
    monkeypatch.undo()
    found = doctor.check_interfaces()
    if found.status == 'ok':
        assert run_dir.versions()['rclpy'] == found.values['rclpy']
