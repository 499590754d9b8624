"""`rpent mcp`: the tools over stdio, from a server that runs in this process."""

import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from rpent_ros.cli import mcp as command
from rpent_ros.errors import ErrorCode
from rpent_ros.mcp.endpoint import Endpoint, published
from rpent_ros.mcp.http import McpHttpServer
from rpent_ros.mcp.jobs import ToolJobs
from rpent_ros.mcp.server import Task
from rpent_ros.tools.result import ToolImage, ToolResult

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = [
    sys.executable, '-c',
    'import sys; from rpent_ros.cli.mcp import main; sys.exit(main(sys.argv[1:]))',
]  # fmt: skip
MODES = pytest.mark.parametrize('mode', ['legacy', 'auto'])


class OneTool:
    """`move` moves until it is cancelled or let go, and comes with a picture."""

    def __init__(self, picture):
        self.begun, self.go_on, self.stop = (threading.Event() for _ in range(3))
        self.result = None
        self._picture = picture
        arguments = {'properties': {'to': {'type': 'number'}}, 'required': ['to']}
        self.specs = [{
            'name': 'move', 'description': 'Move.',
            'input_schema': {'type': 'object', **arguments},
        }]  # fmt: skip

    def reads_only(self, name):
        return False

    def call(self, name, arguments):
        self.begun.set()
        while not self.go_on.is_set():
            if self.stop.wait(0.01):
                self.result = ToolResult(ErrorCode.CANCELED, 'stopped')
                return self.result
        self.result = ToolResult(data=dict(arguments), images=(self._picture,))
        return self.result

    def cancel(self):
        self.stop.set()

    def say(self, text, **_):
        pass


@pytest.fixture(autouse=True)
def runtime_dir(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_RUNTIME_DIR', str(tmp_path))


@pytest.fixture
def tools(tmp_path):
    from PIL import Image

    Image.new('RGB', (32, 24)).save(tmp_path / 'view.png')
    tools = OneTool(ToolImage('view', tmp_path / 'view.png', 32, 24))
    yield tools
    tools.go_on.set()


@pytest.fixture
def server(tools):
    task = Task('You are a robot.', 'Move.')
    with (
        McpHttpServer(ToolJobs(tools), task=task) as server,
        published(Endpoint(server.url, server.token, namespace='left')),
    ):
        yield server


def bridged(work, mode, errors, *options):
    """Let `work` use a client of the command."""

    async def main():
        parameters = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], *options],
            env={**os.environ, 'PYTHONPATH': str(ROOT)},
        )  # fmt: skip
        with open(errors, 'w') as file:
            async with Client(stdio_client(parameters, errlog=file), mode=mode) as client:
                return await work(client)

    return asyncio.run(asyncio.wait_for(main(), 60))


@pytest.fixture
def errors(tmp_path):
    """Where the command's stderr goes; nothing may be in it."""
    yield tmp_path / 'stderr.txt'
    assert (tmp_path / 'stderr.txt').read_text() == ''


@MODES
def test_everything_is_handed_on(server, tools, errors, mode):
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, message))
        tools.go_on.set()

    async def work(client):
        prompt = await client.get_prompt('task')
        resource = await client.read_resource('rpent://task')
        return (
            client.instructions,
            (await client.list_tools()).tools,
            prompt.messages[0].content.text,
            resource.contents[0].text,
            [p.name for p in (await client.list_prompts()).prompts],
            [r.uri for r in (await client.list_resources()).resources],
            await client.call_tool('move', {'to': 1.5}, progress_callback=on_progress),
        )

    found = bridged(work, mode, errors, '--namespace', 'left')
    instructions, listed, prompt, resource, prompts, resources, result = found
    assert instructions == prompt == resource == 'You are a robot.\n\nMove.'
    assert (prompts, resources) == (['task'], ['rpent://task'])
    assert [tool.name for tool in listed] == ['move', 'read_task', 'wait', 'cancel']
    assert listed[0].input_schema == tools.specs[0]['input_schema']
    assert listed[0].annotations.read_only_hint is False
    assert json.loads(result.content[0].text)['to'] == 1.5
    assert [block.type for block in result.content] == ['text', 'text', 'image']
    assert [message for _, message in told] == [f'move: {told[0][0]:.0f} s']


@MODES
def test_a_cancelled_request_stops_the_robot(server, tools, errors, mode):
    async def work(client):
        loop = asyncio.get_running_loop()
        call = asyncio.create_task(client.call_tool('move', {'to': 1}))
        assert await loop.run_in_executor(None, tools.begun.wait, 10)
        call.cancel()
        assert await loop.run_in_executor(None, tools.stop.wait, 10)
        result = await client.call_tool('wait', {'handle': 'h1'})
        return json.loads(result.content[0].text)

    assert bridged(work, mode, errors) == {
        'ok': False, 'code': 'CANCELED', 'message': 'stopped',
    }  # fmt: skip


def test_the_end_of_stdin_stops_the_robot_and_the_command(server, tools, errors):
    async def work(client):
        asyncio.get_running_loop().create_task(client.call_tool('move', {'to': 1}))
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, tools.begun.wait, 10)

    bridged(work, 'legacy', errors)
    assert tools.stop.wait(10)


@MODES
def test_a_server_that_has_gone_is_said(server, tools, errors, mode):
    async def work(client):
        await asyncio.get_running_loop().run_in_executor(None, server.close)
        return [await client.call_tool('move', {'to': 1}) for _ in range(2)]

    for result in bridged(work, mode, errors):
        assert result.is_error
        answer = json.loads(result.content[0].text)
        assert (answer['ok'], answer['code']) == (False, 'UNAVAILABLE')
        assert re.fullmatch(
            r"the robot's MCP server has gone \(.+\): the run has ended; start another one and "
            'connect again',
            answer['message'],
        )


def run(*options, **kwargs):
    return subprocess.run(
        [*COMMAND, *options], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, **kwargs,
    )  # fmt: skip


def test_stdin_that_is_empty_ends_the_command(server):
    done = run()
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')


def test_a_signal_ends_the_command_although_stdin_is_open(server):
    process = subprocess.Popen(
        COMMAND, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    request = {'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}
    process.stdin.write(json.dumps(request).encode() + b'\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())['id'] == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert (process.stdout.read(), process.stderr.read()) == (b'', b'')


def test_none_runs():
    done = run()
    assert (done.returncode, done.stdout) == (2, '')
    assert done.stderr == (
        'rpent mcp: no robot is served over MCP on this machine; start one with: '
        'rpent run --cerebrum mcp\n'
    )


def test_one_that_does_not_answer():
    with published(Endpoint('http://127.0.0.1:9/mcp', 'x', namespace='left')):
        done = run()
    assert (done.returncode, done.stdout) == (2, '')
    assert re.fullmatch(
        r'rpent mcp: left \(run, http://127.0.0.1:9/mcp, process \d+\) does not answer: .+\n',
        done.stderr,
    )


def test_what_runs_is_listed(server, capsys):
    assert command.main(['--list']) == 0
    assert capsys.readouterr().out == (
        f'left (run, {server.url}, process {os.getpid()})\n'
    )


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (['--task', '3'], '--task starts a run and needs --env NAME'),
        (['--env', 'fake', '--tusk', '3'], 'unrecognized arguments: --tusk 3'),
        (
            ['--env', 'fake', '--url', 'http://127.0.0.1:1/mcp'],
            '--url names a server that runs, and --env starts another one',
        ),
        (
            ['--env', 'fake', '--cerebrum', 'api'],
            '--cerebrum api: over MCP the client is the planner',
        ),
    ],
)
def test_wrong_usage_is_one_sentence(capsys, options, sentence):
    with pytest.raises(SystemExit) as caught:
        command.main(options)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err == f'rpent mcp: {sentence}; see rpent mcp --help\n'


def printed(capsys, *options):
    assert command.main(['--print-config', *options]) == 0
    return capsys.readouterr().out


def test_how_to_add_it_to_clients(capsys):
    rpent = str(ROOT / 'rpent')
    assert printed(capsys, 'claude-code') == f'claude mcp add rpent -- {rpent} mcp\n'
    run_options = ['--env', 'fake', '--instruction', 'the red cube']
    assert printed(capsys, 'codex', *run_options) == (
        f"codex mcp add rpent -- {rpent} mcp --env fake --instruction 'the red cube'\n"
    )
    for client in ('claude-desktop', 'cursor'):
        assert json.loads(printed(capsys, client, '--namespace', 'left')) == {
            'mcpServers': {'rpent': {'command': rpent, 'args': ['mcp', '--namespace', 'left']}}
        }
