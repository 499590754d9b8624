"""Calls of MCP clients on threads: kept results, stops that are heard, and the end of a run."""

import logging
import threading

import pytest

from rpent_ros.errors import Busy, Canceled, ErrorCode, InvalidRequest, PeerDied
from rpent_ros.mcp import jobs as mcp_jobs
from rpent_ros.mcp.jobs import ToolJobs
from rpent_ros.tools.result import ToolResult


class SlowTools:
    """`move` moves until it is cancelled or let go; `look` looks until it is let go."""

    specs = ()

    def __init__(self):
        self.ready, self.begun, self.go_on = (threading.Event() for _ in range(3))
        self.ready.set()
        self.stop = threading.Event()
        self.active = ''
        self.cancels = 0

    def reads_only(self, name):
        return name == 'look'

    def call(self, name, arguments):
        if isinstance(arguments.get('raise'), Exception):
            raise arguments['raise']
        if name == 'look':
            assert self.go_on.wait(10)
            return ToolResult(data={'looked': True})
        assert self.ready.wait(10)
        if self.active:
            return ToolResult(ErrorCode.TOOL_BUSY, f'{self.active} is still running')
        # As the toolkit: what was asked before is not about this motion.
        self.active = name
        self.stop.clear()
        self.begun.set()
        while not self.go_on.is_set():
            if self.stop.wait(0.01):
                self.active = ''
                return ToolResult(ErrorCode.CANCELED, 'stopped')
        self.active = ''
        return ToolResult(data=dict(arguments))

    def cancel(self):
        self.cancels += 1
        if self.active:
            self.stop.set()

    def say(self, text, **_):
        raise AssertionError('nothing to say')


@pytest.fixture
def tools():
    return SlowTools()


@pytest.fixture
def jobs(tools):
    jobs = ToolJobs(tools)
    yield jobs
    tools.ready.set()
    tools.go_on.set()
    jobs.close()


def test_a_result_stays_until_it_is_asked_for(jobs, tools):
    first, second = jobs.start('move', {'to': 1}), jobs.start('look', {})
    assert (first.handle, second.handle, jobs.calls) == ('h1', 'h2', 2)
    assert jobs.find(None) is second
    tools.go_on.set()
    assert first.future.result(10) == ToolResult(data={'to': 1})
    assert second.future.result(10).data == {'looked': True}
    second.fetched = True
    assert jobs.find(None) is first
    assert jobs.find('h2') is second


def test_a_stop_is_heard_by_a_motion_that_has_not_begun_yet(jobs, tools):
    tools.ready.clear()
    job = jobs.start('move', {})
    jobs.cancel(job)
    while tools.cancels < 3:
        threading.Event().wait(0.005)
    tools.ready.set()
    assert job.future.result(10).code == ErrorCode.CANCELED


def test_only_the_call_that_moves_can_stop_the_robot(jobs, tools):
    moving = jobs.start('move', {})
    assert tools.begun.wait(10)
    looking, refused = jobs.start('look', {}), jobs.start('move', {})
    assert refused.future.result(10).code == ErrorCode.TOOL_BUSY
    assert jobs.moving is moving
    for job in (looking, refused):
        jobs.cancel(job)
    assert [t.name for t in threading.enumerate() if t.name.startswith('stop')] == []
    assert tools.cancels == 0
    jobs.cancel(moving)
    assert moving.future.result(10).code == ErrorCode.CANCELED
    assert jobs.moving is None


def test_too_many_calls_are_refused(jobs, monkeypatch):
    monkeypatch.setattr(mcp_jobs, 'MAX_RUNNING', 2)
    jobs.start('look', {})
    jobs.start('look', {})
    with pytest.raises(Busy) as caught:
        jobs.start('look', {})
    assert str(caught.value) == 'look: 2 calls are running; wait for their results'


def test_old_results_are_forgotten(jobs, tools, monkeypatch):
    monkeypatch.setattr(mcp_jobs, 'MAX_KEPT', 2)
    tools.go_on.set()
    for number in range(5):
        jobs.start('look', {}).future.result(10)
        assert jobs.calls == number + 1
    jobs.start('look', {})
    with pytest.raises(InvalidRequest) as caught:
        jobs.find('h3')
    assert str(caught.value) == "unknown handle 'h3'; calls without a result: h4, h5, h6"


def test_what_ends_the_run_first_is_the_cause(jobs, tools):
    gone, late = PeerDied('the driver is gone'), Canceled('the run was cancelled')
    moving = jobs.start('move', {})
    job = jobs.start('look', {'raise': gone})
    assert job.future.result(10) == ToolResult(ErrorCode.PEER_DIED, 'the driver is gone')
    assert job.failed
    assert jobs.over.is_set()
    with pytest.raises(PeerDied, match='the driver is gone'):
        jobs.start('look', {})
    tools.go_on.set()
    moving.future.result(10)
    jobs._end(moving, late)
    assert jobs.error is gone


def test_a_defect_ends_the_run_and_is_logged(jobs, caplog):
    caplog.set_level(logging.ERROR)
    job = jobs.start('look', {'raise': ZeroDivisionError('by zero')})
    assert job.future.result(10) == ToolResult(
        ErrorCode.UNKNOWN, 'ZeroDivisionError: by zero'
    )
    assert (jobs.error.code, str(jobs.error)) == (
        ErrorCode.UNKNOWN, 'ZeroDivisionError: by zero',
    )  # fmt: skip
    assert [record.message for record in caplog.records] == ['look failed']
    assert 'ZeroDivisionError' in caplog.text


def test_closing_stops_the_robot_and_waits_for_the_calls(tools):
    jobs = ToolJobs(tools)
    job = jobs.start('move', {})
    assert tools.begun.wait(10)
    jobs.close()
    assert job.future.result(0).code == ErrorCode.CANCELED
    assert [t.name for t in threading.enumerate() if t.name.startswith('tool')] == []
    with pytest.raises(InvalidRequest) as caught:
        jobs.start('move', {})
    assert str(caught.value) == 'move: the run has ended; nothing more can be done'
