"""The MCP server on the fake robot, seen by the official client over HTTP."""

import asyncio
import contextlib
import json
import logging
import socket
import threading
import time

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from rpent_ros.cerebrums.base import Steering
from rpent_ros.errors import ErrorCode, TurnLimit, Unavailable
from rpent_ros.mcp import server as mcp_server
from rpent_ros.mcp.http import McpHttpServer
from rpent_ros.mcp.jobs import ToolJobs
from rpent_ros.mcp.server import Task
from rpent_ros.tools.toolkit import Claim

FAR = {'xyz': [0.5, 0.25, 0.35], 'speed': 0.2}
# The protocol with a handshake, which most clients speak, and the one without.
MODES = pytest.mark.parametrize('mode', ['legacy', '2026-07-28'])


class RunTools:
    """A run's tools: the fake robot's toolkit, and a limit that can be set."""

    def __init__(self, toolkit):
        self._toolkit = toolkit
        self.error = None
        self.called = []
        self.results = {}
        self.said = []

    @property
    def specs(self):
        return [tool.spec() for tool in self._toolkit.tools]

    def reads_only(self, name):
        return any(tool.name == name and tool.reads_only for tool in self._toolkit.tools)

    def call(self, name, arguments):
        if self.error is not None:
            raise self.error
        self.called.append(name)
        self.results[name] = result = self._toolkit.call(name, arguments)
        return result

    def cancel(self):
        self._toolkit.cancel()

    def say(self, text, *, role='assistant', name=''):
        self.said.append((role, name, text))


class Gate:
    """Holds a motion until it is let go; the motion tells when it has begun."""

    def __init__(self, env):
        self.entered, self.go_on = threading.Event(), threading.Event()
        self._moved = env.move_to
        env.move_to = self._move_to

    def _move_to(self, goal, **kwargs):
        self.entered.set()
        assert self.go_on.wait(20)
        return self._moved(goal, **kwargs)


@pytest.fixture
def tools(make_toolkit):
    return RunTools(make_toolkit())


@pytest.fixture
def gate(env, tools):
    gate = Gate(env)
    yield gate
    gate.go_on.set()


@pytest.fixture
def serve(tools):
    """Starts servers; each is closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def start(steering=None, **kwargs):
            jobs = ToolJobs(tools, steering)
            server = stack.enter_context(McpHttpServer(jobs, **kwargs))
            server.jobs = jobs
            return server

        yield start


@contextlib.asynccontextmanager
async def client_of(server, mode='legacy', **headers):
    headers = {'Authorization': f'Bearer {server.token}', **headers}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(server.url, http_client=http), mode=mode) as client,
    ):
        yield client


def with_client(server, work, mode='legacy'):
    async def main():
        async with client_of(server, mode) as client:
            return await work(client)

    return asyncio.run(asyncio.wait_for(main(), 30))


async def in_thread(function, *arguments):
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


def read(result):
    return json.loads(result.content[0].text)


@MODES
def test_tools_are_listed_with_what_they_take(serve, tools, mode):
    async def work(client):
        return (await client.list_tools()).tools

    listed = {tool.name: tool for tool in with_client(serve(), work, mode)}
    assert list(listed) == [spec['name'] for spec in tools.specs] + ['wait', 'cancel']
    for spec in tools.specs:
        tool = listed[spec['name']]
        assert (tool.description, tool.input_schema) == (spec['description'], spec['input_schema'])
        assert tool.output_schema is None
        assert tool.meta == {
            'anthropic/maxResultSizeChars': 500_000, 'anthropic/alwaysLoad': True,
        }  # fmt: skip
    hints = {name: tool.annotations.read_only_hint for name, tool in listed.items()}
    assert (hints['move_to'], hints['finish'], hints['view_env_state']) == (False, False, True)
    assert (hints['wait'], hints['cancel']) == (True, True)


@MODES
def test_a_result_is_json_and_then_each_picture_under_its_name(serve, tools, mode):
    result = with_client(serve(), lambda c: c.call_tool('move_to', {'xyz': [0.5, 0, 0.2]}), mode)
    own = tools.results['move_to']
    assert read(result) == json.loads(json.dumps(own.to_json()))
    assert result.is_error is False
    assert result.structured_content is None
    kinds = [block.type for block in result.content]
    assert kinds == ['text', 'text', 'image', 'text', 'image']
    assert [block.text for block in result.content[1::2]] == [
        'agentview, 128 x 128 px:', 'wrist, 128 x 128 px:',
    ]  # fmt: skip
    assert {block.mime_type for block in result.content[2::2]} == {'image/png'}


def test_what_a_tool_refuses_is_an_ordinary_result(serve):
    async def work(client):
        return (
            await client.call_tool('move_to', {'xyz': [0.5, 0, 9]}),
            await client.call_tool('fly', {}),
            await client.call_tool('move_to'),
        )

    outside, unknown, missing = with_client(serve(), work)
    assert [read(r)['code'] for r in (outside, unknown, missing)] == [
        'OUT_OF_WORKSPACE', 'UNKNOWN_TOOL', 'BAD_ARGUMENTS',
    ]  # fmt: skip
    # Marked as an error, some clients would show the first block alone.
    assert [r.is_error for r in (outside, unknown, missing)] == [False] * 3


@MODES
def test_a_motion_tells_its_progress(serve, gate, monkeypatch, mode):
    monkeypatch.setattr(mcp_server, '_PROGRESS_S', 0.05)
    told = []

    async def on_progress(progress, total, message):
        told.append((progress, total, message))
        if len(told) == 3:
            gate.go_on.set()

    result = with_client(
        serve(), lambda c: c.call_tool('move_to', FAR, progress_callback=on_progress), mode
    )
    assert read(result)['ok'] is True
    assert len(told) >= 3
    assert sorted(told) == told
    assert {(total, message) for _, total, message in told} == {(None, 'move_to: 0 s')}


@MODES
def test_a_long_motion_is_answered_with_a_handle_and_waited_for(serve, gate, tools, mode):
    async def work(client):
        running = await client.call_tool('move_to', FAR)
        still = await client.call_tool('wait', {'handle': 'h1', 'seconds': 0})
        gate.go_on.set()
        # 99 s count as the server's own limit.
        result = await client.call_tool('wait', {'handle': 'h1', 'seconds': 99})
        again = await client.call_tool('wait', {'handle': 'h1'})
        nothing = await client.call_tool('wait')
        unknown = await client.call_tool('wait', {'handle': 'h7'})
        return running, still, result, again, nothing, unknown

    server = serve(answer_within_s=0.2)
    running, still, result, again, nothing, unknown = with_client(server, work, mode)
    message = (
        'move_to still runs; call wait with handle h1 for its result, or cancel to stop the robot'
    )
    assert read(running) == {
        'ok': True, 'code': 'OK', 'running': True, 'handle': 'h1', 'message': message,
        'seconds': pytest.approx(0.2, abs=0.15),
    }  # fmt: skip
    assert read(still)['message'] == message
    assert read(result)['ok'] is True
    assert [block.type for block in result.content] == ['text', 'text', 'image', 'text', 'image']
    # A result is there to be read again, and the run has it once.
    assert again.content == result.content
    assert tools.called == ['move_to']
    assert read(nothing) == {
        'ok': False, 'code': 'INVALID_REQUEST',
        'message': 'no call is running, and every result has been given',
    }  # fmt: skip
    assert read(unknown)['message'] == "unknown handle 'h7'; calls without a result: none"
    assert (nothing.is_error, unknown.is_error) == (True, True)


@MODES
def test_a_second_motion_and_finish_are_refused_while_one_runs(serve, gate, mode):
    async def work(client):
        await client.call_tool('move_to', FAR)
        busy = await client.call_tool('release', {})
        finish = await client.call_tool('finish', {'status': 'success', 'summary': 'done'})
        look = await client.call_tool('view_env_state', {})
        gate.go_on.set()
        return busy, finish, look, await client.call_tool('wait', {'handle': 'h1', 'seconds': 9})

    server = serve(answer_within_s=1.0)
    busy, finish, look, moved = with_client(server, work, mode)
    message = (
        '{}: move_to is still running; wait for its result or cancel it (its handle is h1)'
    )
    for name, refused in (('release', busy), ('finish', finish)):
        assert read(refused)['code'] == 'TOOL_BUSY'
        assert read(refused)['message'] == message.format(name)
    assert (server.jobs.claim, server.jobs.over.is_set()) == (None, False)
    assert read(look)['ok'] is True
    assert read(moved)['ok'] is True


@MODES
def test_a_cancelled_request_stops_the_robot(serve, robot, tools, mode):
    robot._step_seconds = 0.05
    server = serve()

    async def work(client):
        call = asyncio.create_task(client.call_tool('move_to', FAR))
        await in_thread(until, lambda: robot._steps > 2)
        call.cancel()
        await in_thread(until, lambda: 'move_to' in tools.results)

    with_client(server, work, mode)
    assert tools.results['move_to'].code == ErrorCode.CANCELED
    stood_at = robot._steps
    assert stood_at < 20
    time.sleep(0.2)
    assert robot._steps == stood_at


def until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_cancelled_reader_leaves_the_motion_alone(serve, gate, tools, monkeypatch):
    looked, may_look = threading.Event(), threading.Event()
    call = tools.call

    def slow(name, arguments):
        if name == 'view_env_state':
            looked.set()
            assert may_look.wait(10)
        return call(name, arguments)

    monkeypatch.setattr(tools, 'call', slow)

    async def work(client):
        moving = asyncio.create_task(client.call_tool('move_to', FAR))
        await in_thread(gate.entered.wait, 10)
        look = asyncio.create_task(client.call_tool('view_env_state', {}))
        await in_thread(looked.wait, 10)
        look.cancel()
        # The server takes the notification before the next request.
        refused = await client.call_tool('cancel', {'handle': 'h2'})
        may_look.set()
        gate.go_on.set()
        return refused, await moving

    refused, moved = with_client(serve(), work)
    assert read(refused)['message'] == 'cancel: view_env_state (h2) does not move the robot'
    assert read(moved)['code'] == 'OK'


@MODES
def test_the_tool_cancel_stops_the_robot_and_gives_the_result(serve, robot, mode):
    robot._step_seconds = 0.05

    async def work(client):
        nothing = await client.call_tool('cancel')
        await client.call_tool('move_to', FAR)
        stopped = await client.call_tool('cancel')
        return nothing, stopped, robot._steps

    nothing, stopped, stood_at = with_client(serve(answer_within_s=0.2), work, mode)
    assert read(nothing) == {
        'ok': True, 'code': 'OK', 'message': 'nothing was moving; the robot holds still',
    }  # fmt: skip
    assert read(stopped)['ok'] is True
    assert read(stopped)['message'].startswith('move_to ended after ')
    assert read(stopped)['message'].endswith(' s; the robot holds still')
    assert json.loads(stopped.content[1].text)['code'] == 'CANCELED'
    assert [b.type for b in stopped.content[2:]] == ['text', 'image', 'text', 'image']
    time.sleep(0.2)
    assert robot._steps == stood_at


def test_a_client_that_comes_back_waits_for_its_call(serve, gate):
    server = serve(answer_within_s=0.2)
    running = with_client(server, lambda c: c.call_tool('move_to', FAR))
    assert read(running)['handle'] == 'h1'
    gate.go_on.set()
    # A new session, which never saw the handle: the newest call is meant.
    result = with_client(server, lambda c: c.call_tool('wait', {'seconds': 9}))
    assert read(result)['ok'] is True
    assert len(result.content) == 5


def drop(server, body, version, headers=()):
    """Send a request over a bare connection, and close it once the call has begun."""
    connection = socket.create_connection(('127.0.0.1', server.port))
    data = json.dumps(body).encode()
    lines = [
        'POST /mcp HTTP/1.1', f'Host: 127.0.0.1:{server.port}',
        f'Authorization: Bearer {server.token}',
        'Accept: application/json, text/event-stream', 'Content-Type: application/json',
        f'MCP-Protocol-Version: {version}', f'Content-Length: {len(data)}', *headers,
    ]  # fmt: skip
    connection.sendall('\r\n'.join([*lines, '', '']).encode() + data)
    return connection


def call_of(arguments, **meta):
    params = {'name': 'move_to', 'arguments': arguments, **({'_meta': meta} if meta else {})}
    return {'jsonrpc': '2.0', 'id': 77, 'method': 'tools/call', 'params': params}


def session_of(server):
    """Shake hands over a connection that is closed again; returns the session's id."""
    headers = {
        'Authorization': f'Bearer {server.token}',
        'Accept': 'application/json, text/event-stream',
    }
    params = {
        'protocolVersion': '2025-11-25', 'capabilities': {},
        'clientInfo': {'name': 'test', 'version': '1'},
    }  # fmt: skip
    with httpx2.Client(headers=headers) as http:
        answer = http.post(
            server.url,
            json={'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': params},
        )
        return answer.headers['mcp-session-id']


def test_a_client_that_is_gone_for_good_no_longer_moves_the_robot(
    serve, robot, tools, monkeypatch
):
    monkeypatch.setattr(mcp_server, 'GRACE_S', 0.3)
    robot._step_seconds = 0.05
    server = serve()
    session = f'Mcp-Session-Id: {session_of(server)}'
    connection = drop(server, call_of(FAR), '2025-11-25', [session])
    until(lambda: robot._steps > 2)
    connection.close()
    until(lambda: 'move_to' in tools.results)
    assert tools.results['move_to'].code == ErrorCode.CANCELED
    assert server.jobs.find('h1').fetched is False


def test_a_client_that_comes_back_in_time_keeps_the_robot_moving(serve, gate, monkeypatch):
    monkeypatch.setattr(mcp_server, 'GRACE_S', 3.0)
    server = serve()
    session = f'Mcp-Session-Id: {session_of(server)}'
    connection = drop(server, call_of(FAR), '2025-11-25', [session])
    assert gate.entered.wait(10)
    connection.close()

    async def work(client):
        waiting = asyncio.create_task(client.call_tool('wait'))
        await in_thread(until, lambda: server.jobs.find('h1').followers == 1)
        await asyncio.sleep(0.3)
        gate.go_on.set()
        return await waiting

    assert read(with_client(server, work))['code'] == 'OK'


def test_without_a_handshake_a_closed_connection_stops_the_robot_at_once(
    serve, robot, tools, monkeypatch
):
    monkeypatch.setattr(mcp_server, 'GRACE_S', 60.0)
    robot._step_seconds = 0.05
    server = serve()
    meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
    }  # fmt: skip
    headers = ['Mcp-Method: tools/call', 'Mcp-Name: move_to']
    connection = drop(server, call_of(FAR, **meta), '2026-07-28', headers)
    until(lambda: robot._steps > 2)
    connection.close()
    until(lambda: 'move_to' in tools.results)
    assert tools.results['move_to'].code == ErrorCode.CANCELED


def test_two_clients_share_the_robot(serve, gate):
    server = serve(answer_within_s=0.2)

    async def main():
        async with client_of(server) as one, client_of(server, '2026-07-28') as two:
            await one.call_tool('move_to', FAR)
            busy = await two.call_tool('release', {})
            gate.go_on.set()
            moved = await two.call_tool('wait', {'handle': 'h1', 'seconds': 9})
            looked = await one.call_tool('view_env_state', {})
            return busy, moved, looked

    busy, moved, looked = asyncio.run(asyncio.wait_for(main(), 30))
    assert read(busy)['code'] == 'TOOL_BUSY'
    assert read(moved)['ok'] is True
    assert read(looked)['step_idx'] == read(moved)['step_idx']


def test_a_run_that_is_over_says_so(serve, tools):
    server = serve()
    tools.error = TurnLimit('all 3 tool calls of this run are used up')

    async def work(client):
        return [await client.call_tool('view_env_state', {}) for _ in range(2)]

    first, second = with_client(server, work)
    assert read(first) == {
        'ok': False, 'code': 'TURN_LIMIT', 'message': 'all 3 tool calls of this run are used up',
    }  # fmt: skip
    assert read(second) == read(first)
    assert (first.is_error, second.is_error) == (True, True)
    assert server.jobs.over.is_set()
    assert server.jobs.error is tools.error


def test_finish_ends_the_run_and_keeps_the_claim(serve, tools):
    server = serve()

    async def work(client):
        finished = await client.call_tool('finish', {'status': 'stuck', 'summary': 'no cube'})
        return finished, await client.call_tool('view_env_state', {})

    finished, late = with_client(server, work)
    assert read(finished) == {
        'ok': True, 'code': 'OK', 'message': '', 'status': 'stuck', 'summary': 'no cube',
    }  # fmt: skip
    assert server.jobs.claim == Claim('stuck', 'no cube')
    assert (server.jobs.over.is_set(), server.jobs.error) == (True, None)
    assert read(late)['message'] == (
        'view_env_state: the run has ended with stuck; nothing more can be done'
    )
    assert tools.called == ['finish']


def test_messages_from_people_come_with_the_next_result(serve, tools):
    steering = Steering()
    server = serve(steering)
    steering.push('take the red one')
    steering.push('slowly')

    async def work(client):
        return [await client.call_tool('view_env_state', {}) for _ in range(2)]

    first, second = with_client(server, work)
    assert [block.text for block in first.content[-2:]] == [
        'Message from the operator: take the red one', 'Message from the operator: slowly',
    ]  # fmt: skip
    assert len(second.content) == len(first.content) - 2
    assert tools.said == [
        ('user', 'user', 'take the red one'), ('user', 'user', 'slowly'),
    ]  # fmt: skip


def test_the_task_is_told_in_every_way_that_clients_know(serve):
    task = Task('You are a robot.', 'Pick up the cube.')
    text = 'You are a robot.\n\nPick up the cube.'

    async def work(client):
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources
        prompt = await client.get_prompt(prompts[0].name)
        resource = await client.read_resource(resources[0].uri)
        read_task = await client.call_tool('read_task')
        names = [tool.name for tool in (await client.list_tools()).tools]
        return client.instructions, prompts, prompt, resources, resource, read_task, names

    found = with_client(serve(task=task), work)
    instructions, prompts, prompt, resources, resource, read_task, names = found
    assert instructions == text
    assert [p.name for p in prompts] == ['task']
    assert [(m.role, m.content.text) for m in prompt.messages] == [('user', text)]
    assert [r.uri for r in resources] == ['rpent://task']
    assert [c.text for c in resource.contents] == [text]
    assert [c.text for c in read_task.content] == [text]
    assert names[-3:] == ['read_task', 'wait', 'cancel']


@pytest.mark.parametrize(
    ('headers', 'status', 'sentence'),
    [
        (
            {'Authorization': 'Bearer wrong'}, 401,
            'expected the header "Authorization: Bearer TOKEN" with the token of this server, got '
            'another token; rpent mcp knows it',
        ),
        (
            {'Authorization': ''}, 401,
            'expected the header "Authorization: Bearer TOKEN" with the token of this server, got '
            'none; rpent mcp knows it',
        ),
        (
            {'Host': 'evil.example'}, 421,
            "Host 'evil.example' refused: this server answers to 127.0.0.1 and localhost only",
        ),
        (
            {'Host': '127.0.0.1.evil.example:80'}, 421,
            "Host '127.0.0.1.evil.example:80' refused: this server answers to 127.0.0.1 and "
            'localhost only',
        ),
        (
            {'Origin': 'https://evil.example'}, 403,
            "Origin 'https://evil.example' refused: web pages of other hosts may not call tools",
        ),
    ],
)  # fmt: skip
def test_who_may_not_call(serve, tools, headers, status, sentence):
    server = serve()
    given = {
        'Authorization': f'Bearer {server.token}',
        'Accept': 'application/json, text/event-stream',
        **headers,
    }
    answer = httpx2.post(server.url, headers=given, json=call_of(FAR))
    assert (answer.status_code, answer.json()) == (status, {'error': sentence})
    assert tools.called == []


def test_the_server_listens_on_this_machine_only(serve):
    server = serve()
    assert server._socket.getsockname()[0] == '127.0.0.1'
    assert server.url == f'http://127.0.0.1:{server.port}/mcp'
    assert len(server.token) >= 43
    assert serve().token != server.token


def test_a_port_that_is_taken_is_one_sentence(serve):
    port = serve().port
    with pytest.raises(Unavailable) as caught:
        serve(port=port)
    assert str(caught.value) == (
        f'mcp_port {port}: cannot listen on 127.0.0.1: Address already in use; choose another '
        'port, or 0 for a free one'
    )


@MODES
def test_it_ends_quickly_and_leaves_nothing(tools, gate, caplog, capfd, mode):
    """With a motion under way, a client that listens, and one whose request is in flight."""
    caplog.set_level(logging.WARNING)
    before = set(threading.enumerate())
    jobs = ToolJobs(tools)
    with McpHttpServer(jobs) as server:

        async def main():
            async with client_of(server, mode) as client:
                call = asyncio.create_task(client.call_tool('move_to', FAR))
                await in_thread(gate.entered.wait, 10)
                gate.go_on.set()
                begun = time.monotonic()
                await in_thread(server.close)
                return time.monotonic() - begun, await call

        seconds, result = asyncio.run(asyncio.wait_for(main(), 30))
    # The request that was in flight has its answer; what comes now is refused.
    assert read(result)['code'] in ('OK', 'CANCELED')
    assert seconds < 2.0
    assert [thread for thread in set(threading.enumerate()) - before if thread.is_alive()] == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(('127.0.0.1', server.port), timeout=1)
    assert [r for r in caplog.records if not r.name.startswith(('mcp.client', 'asyncio'))] == []
    assert capfd.readouterr() == ('', '')
