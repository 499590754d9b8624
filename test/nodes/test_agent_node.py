"""The agent node with a driver node of the fake robot in one process."""

import json
import math
import threading
import time

import pytest

pytestmark = pytest.mark.ros
rclpy = pytest.importorskip('rclpy')

from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from robots.fake.env_server import FakeRobot  # noqa: E402
from robots.fake.toolkit import TOOLS  # noqa: E402
from rpent_msgs.action import RunTask  # noqa: E402
from rpent_msgs.msg import AgentEvent, StepRecord  # noqa: E402
from rpent_msgs.srv import CallTool, Interrupt, ListTools  # noqa: E402
from rpent_ros.errors import ErrorCode, RpentError, Unavailable  # noqa: E402
from rpent_ros.nodes import convert  # noqa: E402
from rpent_ros.nodes.agent import AgentNode  # noqa: E402
from rpent_ros.nodes.client import ActionCaller, ServiceCaller  # noqa: E402
from rpent_ros.nodes.driver import DriverNode  # noqa: E402
from rpent_ros.nodes.env_client import RosEnvClient  # noqa: E402
from rpent_ros.nodes.node import Node  # noqa: E402
from rpent_ros.nodes.process import Shutdown, SpinThread, prepare_environment  # noqa: E402
from rpent_ros.primitives.arm import waypoint  # noqa: E402

NAMESPACE = '/agent_test'
LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Bench:
    """Driver and agent under test, and a client node to ask them."""

    def __init__(self, context, robot, vla, tmp_path, **parameters):
        common = {'context': context, 'namespace': NAMESPACE}
        self.robot = robot
        privileged = [Parameter('privileged', value=True)]
        self.driver = DriverNode(robot, parameter_overrides=privileged, **common)
        self._shutdown = Shutdown()
        self._main = threading.Thread(target=self.driver.main_loop, args=[self._shutdown])
        values = {
            'robot': 'fake', 'suite': 'fake_pick', 'seed': 1, 'record': False, 'image_size': 0,
            'output_dir': str(tmp_path / 'run'), 'wait_s': 10.0, **parameters,
        }  # fmt: skip
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.agent = AgentNode(vla=vla, parameter_overrides=overrides, **common)
        self.node = Node('tester', **common)
        self.events, self.steps = [], []
        self.node.create_subscription(AgentEvent, 'agent/events', self.events.append, LATCHED)
        self.node.create_subscription(StepRecord, 'agent/steps', self.steps.append, LATCHED)
        self.messages = self.node.create_publisher(String, 'agent/user_message', 10)
        self._spins = [SpinThread(node) for node in (self.driver, self.agent, self.node)]
        self._main.start()
        self._call = ServiceCaller(self.node, CallTool, 'agent/call_tool')
        self._list = ServiceCaller(self.node, ListTools, 'agent/list_tools')
        self.run_task = ActionCaller(self.node, RunTask, 'agent/run_task')

    def call(self, name, arguments='{}'):
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        request = CallTool.Request(name=name, arguments_json=arguments)
        try:
            return self._call.call(request, timeout_s=20.0)
        except RpentError as error:
            return error

    def tools(self):
        return self._list.call(ListTools.Request(), timeout_s=10.0)

    def close(self):
        self.agent.drain()
        self._shutdown.request()
        self._main.join(5)
        for spin in self._spins:
            spin.stop()
        for node in (self.node, self.agent, self.driver):
            node.destroy_node()


@pytest.fixture
def bench(tmp_path, cheating_vla, capsys):
    prepare_environment()
    context = rclpy.Context()
    rclpy.init(context=context)
    robot = FakeRobot(image_size=64, step_seconds=0.002)
    benches = []

    def make(**parameters):
        benches.append(Bench(context, robot, cheating_vla(robot), tmp_path, **parameters))
        return benches[-1]

    yield make
    for made in benches:
        made.close()
    rclpy.try_shutdown(context=context)


def eventually(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, 'waited in vain'
        time.sleep(0.02)


def test_run_task_achieves_and_tells(bench, tmp_path, capsys):
    b = bench()
    feedback = []
    result = b.run_task.run(RunTask.Goal(), timeout_s=60.0, on_feedback=feedback.append)
    assert (result.error_code, result.error_msg) == (0, '')
    assert (result.claimed, result.achieved, result.privileged) == ('success', True, True)
    assert result.output_dir == str(tmp_path / 'run')
    assert result.tool_calls == 5
    eventually(lambda: b.events and b.events[-1].kind == 'run_finished')
    assert {event.run_id for event in b.events} == {result.run_id}
    calls = [event.name for event in b.events if event.kind == 'tool_call']
    assert calls == ['view_env_state', 'pi0_pick', 'move_to', 'pi0_doubled', 'finish']
    assert [(f.turn, f.tool, f.ended) for f in feedback][:4] == [
        (1, 'view_env_state', False), (1, 'view_env_state', True),
        (2, 'pi0_pick', False), (2, 'pi0_pick', True),
    ]  # fmt: skip
    eventually(lambda: len(b.steps) == 4)
    assert [(s.index, s.tool) for s in b.steps] == [
        (0, ''), (1, 'pi0_pick'), (2, 'move_to'), (3, 'pi0_doubled'),
    ]  # fmt: skip
    stored = json.loads((tmp_path / 'run' / 'states.json').read_text())['steps']
    assert [json.loads(s.json) for s in b.steps] == stored
    frames = convert.observation_from_msg(b.steps[3].observation).frames
    assert [(f.name, f.size, f.depth) for f in frames] == [
        ('agentview', (64, 64), None), ('wrist', (64, 64), None),
    ]  # fmt: skip
    printed = capsys.readouterr().out
    assert '  2  pi0_pick prompt=pick up the red cube\n     ok  ' in printed


def test_cancel_stops_the_robot_and_ends_the_run(bench, tmp_path):
    b = bench()
    started = threading.Event()
    result = b.run_task.run(
        RunTask.Goal(),
        timeout_s=60.0,
        should_stop=started.is_set,
        on_feedback=lambda f: started.set() if f.tool == 'pi0_pick' else None,
    )
    assert result.error_code == ErrorCode.CANCELED
    assert result.error_msg == 'the run was cancelled after 2 tool calls'
    assert not result.achieved
    steps = b.driver.core.state.step
    time.sleep(0.2)
    assert b.driver.core.state.step == steps
    assert json.loads((tmp_path / 'run' / 'result.json').read_text())['reason'] == 'cancelled'


def test_one_run_at_a_time_and_no_tools_by_hand_meanwhile(bench):
    b = bench()
    results, started = [], threading.Event()
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: results.append(
            b.run_task.run(
                RunTask.Goal(),
                timeout_s=60.0,
                should_stop=stop.is_set,
                on_feedback=lambda f: started.set() if f.tool == 'pi0_pick' else None,
            )
        )
    )
    thread.start()
    assert started.wait(20)
    second = ActionCaller(b.node, RunTask, 'agent/run_task').run(RunTask.Goal(), timeout_s=10.0)
    by_hand = b.call('release')
    stop.set()
    thread.join(20)
    run_id = results[0].run_id
    assert second.error_code == ErrorCode.RUN_ACTIVE
    assert second.error_msg == f'run {run_id} is active; wait for its end or cancel it'
    assert str(by_hand) == (
        f'release: run {run_id} is active and its tools answer to its planner; '
        'wait for its end or cancel it'
    )


def test_a_refused_motion_has_nothing_left_to_tell(bench):
    env = RosEnvClient(bench().node)
    limits = env.describe().limits
    assert (limits.workspace_margin, limits.max_deviation) == (0.03, 0.15)
    env.reset(seed=1)
    refused = env.move_to(waypoint([0.4, 0.0, 9.0]))
    assert (refused.code, refused.steps) == (ErrorCode.OUT_OF_WORKSPACE, 0)
    assert math.isnan(refused.position_error)
    assert math.isnan(refused.orientation_error)
    moved = env.move_to(waypoint([0.4, 0.1, 0.3]))
    assert moved.code == ErrorCode.OK
    assert 0.0 < moved.position_error < 0.003


def test_tools_by_hand(bench):
    b = bench()
    look = b.call('view_env_state')
    state = json.loads(look.result_json)
    assert state['instruction'] == 'pick up the red cube and place it in the bin'
    assert [path.rsplit('/', 1)[1] for path in look.image_paths] == [
        '00_agentview.png', '00_wrist.png',
    ]  # fmt: skip
    # The driver had no episode, so the agent started one.
    assert b.driver.core.state.episode == 1
    moved = json.loads(b.call('move_to', {'xyz': [0.45, -0.1, 0.25]}).result_json)
    assert moved['settled'] is True
    b.call('release')
    assert b.driver.core.state.episode == 1
    assert b.agent.last_result is None


@pytest.mark.parametrize(
    ('name', 'arguments', 'code', 'message'),
    [
        (
            'fly',
            '{}',
            ErrorCode.UNKNOWN_TOOL,
            "unknown tool 'fly'; known tools: " + ', '.join(tool.name for tool in TOOLS),
        ),
        (
            'move_to',
            '{"xyz": [0.4, 0.0, 0.2], "sped": 1}',
            ErrorCode.BAD_ARGUMENTS,
            "move_to: unknown argument 'sped'; known arguments: xyz, yaw, gripper, speed",
        ),
        (
            'move_to',
            '{"xyz": [0.4, 0.0, NaN]}',
            ErrorCode.BAD_ARGUMENTS,
            'move_to: xyz[2]: expected a finite number, got nan',
        ),
        (
            'move_to',
            'xyz: 1',
            ErrorCode.BAD_ARGUMENTS,
            "move_to: expected arguments_json as a JSON object, got 'xyz: 1' "
            '(Expecting value: line 1 column 1 (char 0))',
        ),
    ],
)
def test_wrong_tool_calls(bench, name, arguments, code, message):
    error = bench().call(name, arguments)
    assert (error.code, str(error)) == (code, message)


def test_list_tools(bench):
    answer = bench().tools()
    assert {'view_env_state', 'back_project', 'move_to', 'finish'} <= set(answer.names)
    specs = dict(zip(answer.names, map(json.loads, answer.specs_json), strict=True))
    assert [spec['name'] for spec in specs.values()] == list(answer.names)
    assert specs['move_to']['input_schema']['required'] == ['xyz']


def test_a_folder_in_use_is_refused(bench, tmp_path):
    (tmp_path / 'run').mkdir()
    (tmp_path / 'run' / 'x').write_text('')
    result = bench().run_task.run(RunTask.Goal(), timeout_s=20.0)
    assert result.error_code == ErrorCode.BAD_OUTPUT_DIR
    assert result.error_msg == (
        f'output_dir {tmp_path / "run"} is not empty (it holds x); '
        'choose another folder, or set overwrite to replace the run in this one'
    )


def test_the_goal_has_precedence_over_the_parameters(bench, tmp_path):
    b = bench()
    goal = RunTask.Goal(task=2, seed=5, output_dir=str(tmp_path / 'other'))
    result = b.run_task.run(goal, timeout_s=60.0)
    assert result.achieved
    stored = json.loads((tmp_path / 'other' / 'result.json').read_text())
    assert (stored['task'], stored['seed']) == (2, 5)
    assert stored['instruction'] == 'pick up the green cube and place it in the bin'


def test_user_messages_reach_the_planner(bench):
    b = bench()
    eventually(lambda: b.messages.get_subscription_count() == 1)
    b.run_task.run(
        RunTask.Goal(),
        timeout_s=60.0,
        on_feedback=lambda f: f.turn == 1 and b.messages.publish(String(data='slowly, please')),
    )
    eventually(lambda: b.events and b.events[-1].kind == 'run_finished')
    said = [json.loads(e.json)['text'] for e in b.events if e.kind == 'message']
    assert 'slowly, please' in said


def test_an_interrupt_holds_the_robot_and_tells_the_planner(bench):
    b = bench()
    interrupt = ServiceCaller(b.node, Interrupt, 'agent/interrupt')
    with pytest.raises(Unavailable, match=r'^interrupt: no run is active; nothing to stop$'):
        interrupt.call(Interrupt.Request(), timeout_s=5.0)
    answers = []

    def stop(feedback):
        if feedback.turn == 2 and not answers:
            answers.append(None)
            request = Interrupt.Request(message='leave it')
            threading.Thread(
                target=lambda: answers.append(interrupt.call(request, timeout_s=10.0))
            ).start()

    result = b.run_task.run(RunTask.Goal(), timeout_s=60.0, on_feedback=stop)
    eventually(lambda: len(answers) == 2)
    assert answers[1].tool == 'pi0_pick'
    assert 0 < answers[1].standstill_s < 5
    assert (result.claimed, result.achieved) == ('stuck', False)
    eventually(lambda: any(e.kind == 'interrupt' for e in b.events))


@pytest.mark.parametrize('text', ['/stop leave it', 'STOP!'])
def test_stop_as_a_message_interrupts(bench, text):
    b = bench()
    eventually(lambda: b.messages.get_subscription_count() == 1)
    said = String(data=text)
    result = b.run_task.run(
        RunTask.Goal(), timeout_s=60.0,
        on_feedback=lambda f: f.turn == 2 and b.messages.publish(said),
    )  # fmt: skip
    assert (result.claimed, result.achieved) == ('stuck', False)


def test_quit_as_a_message_ends_the_run(bench):
    b = bench()
    eventually(lambda: b.messages.get_subscription_count() == 1)
    result = b.run_task.run(
        RunTask.Goal(), timeout_s=60.0,
        on_feedback=lambda f: f.turn == 2 and b.messages.publish(String(data='/quit')),
    )  # fmt: skip
    assert result.error_code == ErrorCode.CANCELED
    assert result.error_msg.startswith('the run was cancelled ')


def test_autorun(bench):
    b = bench()
    done = threading.Event()
    b.agent.autorun(done.set)
    assert done.wait(30)
    assert b.agent.last_result.exit_code == 0


def test_a_missing_driver_is_named(tmp_path, cheating_vla):
    prepare_environment()
    context = rclpy.Context()
    rclpy.init(context=context)
    robot = FakeRobot(image_size=64)
    overrides = [
        Parameter(name, value=value)
        for name, value in {
            'robot': 'fake', 'suite': 'fake_pick', 'record': False, 'wait_s': 0.5,
            'output_dir': str(tmp_path / 'run'),
        }.items()
    ]  # fmt: skip
    agent = AgentNode(
        vla=cheating_vla(robot), context=context, namespace='/lonely',
        parameter_overrides=overrides,
    )  # fmt: skip
    with SpinThread(agent):
        done = threading.Event()
        agent.autorun(done.set)
        assert done.wait(20)
        result = agent.last_result
        agent.drain()
    agent.destroy_node()
    rclpy.try_shutdown(context=context)
    assert (result.status, result.code, result.exit_code) == ('failed', ErrorCode.UNAVAILABLE, 3)
    assert result.message == (
        '/lonely/driver/describe: no server after 2 s; is its node running, with the same '
        'ROS_DOMAIN_ID? (waited 0.5 s)'
    )
