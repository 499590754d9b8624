"""The supervisor on stand-in processes: order, failures, Ctrl-C, and that nothing is left."""

import os
import pathlib
import signal
import sys
import textwrap
import threading
import time

import pytest

from rpent_ros.cli import supervisor as supervisor_module
from rpent_ros.cli.supervisor import Command, Outcome, Supervisor, processes_in_sessions

READY = """
import json, os, signal, sys, time
def ready():
    print(json.dumps({'event': 'transport_ready', 'pid': os.getpid()}), flush=True)
def forever():
    while True:
        time.sleep(60)
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
"""
SERVES = 'ready(); forever()'
# Nobody waits for ever, even on a machine that is busy with something else [s].
LIMIT = 15.0


def command(name: str, body: str, **options: object) -> Command:
    """A process that runs `body` after READY."""
    code = READY + textwrap.dedent(body)
    return Command(name, argv=[sys.executable, '-c', code], **options)


def run(
    tmp_path: pathlib.Path, *commands: Command, lines: list[str] | None = None
) -> tuple[Outcome, float]:
    """Supervise; returns the outcome and the seconds it took."""
    begun = time.monotonic()
    supervisor = Supervisor(
        commands,
        log_dir=tmp_path / 'logs',
        on_line=lambda name, line: None if lines is None else lines.append(f'{name}: {line}'),
    )
    return supervisor.run(), time.monotonic() - begun


def press_ctrl_c(*delays: float) -> threading.Thread:
    """Send SIGINT to this process after each delay [s]."""

    def press() -> None:
        for delay in delays:
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def nothing_is_left() -> None:
    """No test may leave a child behind."""
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize('code', [0, 1, 3])
def test_run_ends_with_the_process_that_ends_it(tmp_path: pathlib.Path, code: int) -> None:
    outcome, _ = run(
        tmp_path,
        command('driver', SERVES),
        command('agent', f'ready(); sys.exit({code})', after=('driver',), ends_run=True),
    )
    assert outcome == Outcome(code)


def test_a_process_starts_when_those_before_it_are_ready(tmp_path: pathlib.Path) -> None:
    stamp = "time.sleep({}); print('ready at', time.monotonic(), flush=True); ready(); forever()"
    lines: list[str] = []
    run(
        tmp_path,
        command('slow', stamp.format(0.4)),
        command('quick', stamp.format(0.0)),
        command(
            'agent',
            "print('started at', time.monotonic(), flush=True)",
            after=('slow', 'quick'),
            ends_run=True,
            announces=False,
        ),
        lines=lines,
    )
    times = {line.split(':')[0]: float(line.split()[-1]) for line in lines if ' at ' in line}
    assert times['quick'] < times['slow'] < times['agent']


def test_output_goes_to_the_logs_and_to_the_listener(tmp_path: pathlib.Path) -> None:
    lines: list[str] = []
    run(
        tmp_path,
        command(
            'agent',
            "print('one', flush=True); print('two', file=sys.stderr); sys.stdout.write('three')",
            announces=False,
            ends_run=True,
        ),
        lines=lines,
    )
    assert lines == ['agent: one', 'agent: two']
    assert (tmp_path / 'logs' / 'agent.log').read_text() == 'one\ntwo\nthree'


@pytest.mark.parametrize(
    'body, how',
    [
        ("print('no display', file=sys.stderr); sys.exit(3)", 'ended with 3 before it was ready'),
        ('os.kill(os.getpid(), signal.SIGKILL)', 'was killed by SIGKILL before it was ready'),
    ],
)
def test_failure_at_start_names_the_process_and_its_last_words(
    tmp_path: pathlib.Path, body: str, how: str
) -> None:
    outcome, seconds = run(
        tmp_path,
        command('driver', body),
        command('agent', SERVES, after=('driver',), ends_run=True),
    )
    log = tmp_path / 'logs' / 'driver.log'
    words = (
        f'; the end of {log}:\n  | no display'
        if 'display' in body
        else f'; it printed nothing to {log}'
    )
    assert outcome == Outcome(failure=f'driver {how}{words}')
    assert not (tmp_path / 'logs' / 'agent.log').exists()
    assert seconds < LIMIT


def test_program_that_does_not_exist(tmp_path: pathlib.Path) -> None:
    outcome, _ = run(
        tmp_path, Command('agent', argv=['/nowhere/at/all'], ends_run=True, announces=False)
    )
    assert outcome.failure == (
        "agent cannot be started: [Errno 2] No such file or directory: '/nowhere/at/all'"
    )


def test_silence_is_a_failure(tmp_path: pathlib.Path) -> None:
    outcome, _ = run(
        tmp_path,
        command('driver', "print('loading', flush=True); forever()", ready_timeout=0.5),
        command('agent', SERVES, after=('driver',), ends_run=True),
    )
    assert outcome == Outcome(
        failure='driver was not ready after 0.5 s; the end of '
        f'{tmp_path / "logs" / "driver.log"}:\n  | loading'
    )


def test_death_in_the_middle_ends_everything(tmp_path: pathlib.Path) -> None:
    outcome, seconds = run(
        tmp_path,
        command('driver', 'ready(); time.sleep(0.6); os.kill(os.getpid(), signal.SIGKILL)'),
        command('vla', SERVES),
        command('agent', SERVES, after=('driver', 'vla'), ends_run=True),
    )
    assert outcome.failure.startswith('driver was killed by SIGKILL; the end of ')
    assert (outcome.returncode, outcome.interrupted) == (None, False)
    assert seconds < LIMIT


def test_ctrl_c_lets_the_last_process_write_its_results_first(tmp_path: pathlib.Path) -> None:
    says = (
        'signal.signal(signal.SIGINT, '
        "lambda *_: (print('end', time.monotonic()), sys.exit(0)))\n"
    )
    lines: list[str] = []
    press_ctrl_c(0.7)
    outcome, seconds = run(
        tmp_path,
        command('driver', says + SERVES),
        command('agent', says + SERVES, after=('driver',), ends_run=True),
        lines=lines,
    )
    assert outcome == Outcome(interrupted=True)
    ends = {line.split(':')[0]: float(line.split()[-1]) for line in lines if 'end' in line}
    assert ends['agent'] < ends['driver']
    assert seconds < LIMIT


def test_all_the_waiting_after_an_abort_is_less_than_five_seconds() -> None:
    ladder = sum(grace for _, grace in supervisor_module._LADDER)
    assert supervisor_module._HEAD_START + ladder < 5


def test_deaf_processes_are_killed(tmp_path: pathlib.Path) -> None:
    deaf = """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready(); forever()
    """
    press_ctrl_c(0.7)
    outcome, seconds = run(
        tmp_path,
        command('driver', deaf),
        command('agent', deaf, after=('driver',), ends_run=True),
    )
    assert outcome == Outcome(interrupted=True)
    assert seconds < LIMIT


def test_pressing_twice_is_faster(tmp_path: pathlib.Path) -> None:
    deaf = 'signal.signal(signal.SIGINT, signal.SIG_IGN); ready(); forever()'
    press_ctrl_c(0.7, 0.2)
    outcome, seconds = run(
        tmp_path,
        command('driver', deaf),
        command('agent', deaf, after=('driver',), ends_run=True),
    )
    assert outcome == Outcome(interrupted=True)
    # Without the second press the first SIGINT alone would be given this long.
    assert seconds < 0.9 + supervisor_module._HEAD_START + supervisor_module._LADDER[0][1]


def test_grandchildren_are_ended_too(tmp_path: pathlib.Path) -> None:
    lines: list[str] = []
    outcome, _ = run(
        tmp_path,
        command(
            'agent',
            """
            import subprocess
            child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
            other = subprocess.Popen(
                [sys.executable, '-c', 'import time; time.sleep(60)'], process_group=0
            ) if sys.version_info >= (3, 11) else child
            print(child.pid, other.pid, flush=True)
            """,
            announces=False,
            ends_run=True,
        ),
        lines=lines,
    )
    assert outcome == Outcome(0)
    for pid in lines[0].split()[1:]:
        stat = pathlib.Path('/proc', pid, 'stat')
        assert not stat.exists() or stat.read_text().rpartition(')')[2].split()[0] in 'ZX'


def test_a_patient_process_may_take_its_time_after_a_good_run(tmp_path: pathlib.Path) -> None:
    closes = """
    def close(*_):
        time.sleep(3)
        print('closed', flush=True)
        sys.exit(0)
    signal.signal(signal.SIGINT, close)
    ready(); forever()
    """
    lines: list[str] = []
    run(
        tmp_path,
        command('recorder', closes, patience=10.0),
        command('agent', 'ready()', after=('recorder',), ends_run=True),
        lines=lines,
    )
    assert 'recorder: closed' in lines


def test_wrong_lists_of_commands(tmp_path: pathlib.Path) -> None:
    one = command('agent', '', after=('driver',), ends_run=True)
    with pytest.raises(ValueError, match=r"^agent: expected \('driver',\) to come before it$"):
        Supervisor([one], log_dir=tmp_path)
    with pytest.raises(ValueError, match=r'^expected exactly one command that ends the run$'):
        Supervisor([command('driver', '')], log_dir=tmp_path)


def test_sessions_are_found_in_proc() -> None:
    assert os.getpid() in processes_in_sessions([os.getsid(0)])
    assert processes_in_sessions([]) == ()
