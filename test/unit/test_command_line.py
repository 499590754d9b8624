"""Wrong usage: one whole sentence on stderr, exit code 2, nothing on stdout, nothing started."""

import pathlib
import subprocess
import sys

import pytest

from rpent_ros.cli import main as main_module

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKE = ['run', '--env', 'fake', '--suite', 'fake_pick']


@pytest.mark.parametrize(
    'arguments, message',
    [
        (
            ['run', '--env', 'libreo'],
            "rpent run: unknown robot 'libreo'; known robots: fake, libero",
        ),
        (
            ['run', '--env', 'fake', '--suite', 'fake_push'],
            "rpent run: unknown suite 'fake_push'; known suites: fake_pick",
        ),
        (
            [*FAKE, '--task', '3'],
            'rpent run: suite fake_pick: expected a task from 0 to 2, got 3',
        ),
        ([*FAKE, '--task', '-1'], 'rpent run: task: expected 0 or above, got -1'),
        (
            [*FAKE, '--seed', 'x'],
            "rpent run: argument --seed: expected an integer, got 'x'; see rpent run --help",
        ),
        ([*FAKE, '--seed', '-1'], 'rpent run: seed: expected 0 to 4294967295, got -1'),
        (
            [*FAKE, '--max-seconds', 'soon'],
            "rpent run: argument --max-seconds: expected a number, got 'soon'; "
            'see rpent run --help',
        ),
        ([*FAKE, '--domain-id', '233'], 'rpent run: domain-id: expected 0 to 232, got 233'),
        ([*FAKE, '--recipe', '/no/file'], 'rpent run: recipe /no/file: no such file'),
        (
            [*FAKE, '--sed', '1'],
            'rpent run: unrecognized arguments: --sed 1; see rpent run --help',
        ),
        (
            ['--env', 'libreo'],
            "rpent run: unknown robot 'libreo'; known robots: fake, libero",
        ),
        (
            ['demo', '--task', 'one'],
            "rpent demo: argument --task: expected an integer, got 'one'; see rpent demo --help",
        ),
        (
            ['fly'],
            "rpent: unknown command 'fly'; known commands: run, demo, replay, render, test, "
            'mcp, check-llm, doctor',
        ),
        (
            ['render', '/no/folder'],
            'rpent render: /no/folder: expected the output folder of a run, found no folder',
        ),
        (
            ['replay', '/no/folder'],
            'rpent replay: /no/folder: expected the output folder of a run, found no folder',
        ),
        (
            ['render', '/no/folder', '--fps', 'fast'],
            "rpent render: argument --fps: expected a number, got 'fast'; see rpent render --help",
        ),
        (
            ['render', '/no/folder', '--size', '250'],
            'rpent render: video size: expected a multiple of 16 from 16 to 2048, got 250',
        ),
    ],
)
def test_wrong_usage(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = main_module.main(arguments)
    except SystemExit as end:  # argparse
        code = end.code
    out, err = capsys.readouterr()
    assert (code, out, err) == (2, '', message + '\n')
    assert not list(tmp_path.iterdir())


def test_output_folder_that_holds_something(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'mine.txt').write_text('keep')
    assert main_module.main([*FAKE, '--output-dir', str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f'rpent run: output_dir {tmp_path} is not empty (it holds mine.txt); choose another '
        'folder, or set overwrite to replace the run in this one\n'
    )


def test_output_folder_that_is_a_file(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'file'
    file.write_text('')
    assert main_module.main([*FAKE, '--output-dir', str(file)]) == 2
    assert capsys.readouterr().err == (
        f'rpent run: output_dir {file} is a file; expected a folder\n'
    )


def test_output_folder_that_cannot_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main_module.main([*FAKE, '--output-dir', '/proc/run']) == 2
    assert capsys.readouterr().err == (
        'rpent run: output_dir /proc/run cannot be written to: No such file or directory; '
        'choose another folder\n'
    )


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main_module.main(['--help']) == 0
    lines = capsys.readouterr().out.splitlines()[2 : 2 + len(main_module.COMMANDS)]
    assert [line.split()[0] for line in lines] == list(main_module.COMMANDS)
    assert main_module.main([]) == 2


def test_start_up_imports_no_ros_and_no_simulator() -> None:
    code = (
        'import sys; from rpent_ros.cli import main, run, supervised_run; '
        "heavy = {'rclpy', 'mujoco', 'robosuite', 'libero', 'torch', 'rosbags', 'mcap'}; "
        'sys.exit(", ".join(sorted(heavy & set(sys.modules))) or 0)'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, '')
