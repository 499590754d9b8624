"""The classical segmenter on scenes made of numbers, and the segment tool with stand-ins."""

import json

import numpy as np
import pytest
from PIL import Image

from rpent_ros.contracts.observation import CameraFrame
from rpent_ros.contracts.segmentation import (
    Instance,
    Segmentation,
    SegmenterSpec,
    SegmentRequest,
)
from rpent_ros.errors import ErrorCode, InvalidRequest, PeerDied
from rpent_ros.geometry import Pose
from rpent_ros.segmentation.classical import ClassicalSegmenter
from rpent_ros.segmentation.privileged import PrivilegedSegmenter
from rpent_ros.segmentation.registry import known_segmenters, make_segmenter
from rpent_ros.states import States

SIZE = 192
FOCAL = 240.0


class Boxes:
    """Boxes on a table, seen from above at a slant, as a depth image."""

    def __init__(self, *boxes):
        # The camera looks along +x and down, from 0.5 m above the table.
        down = np.array([[0.0, -0.6, 0.8], [-1.0, 0.0, 0.0], [0.0, -0.8, -0.6]])
        self.pose = Pose.from_matrix(
            np.block([[down, np.array([[0.0], [0.0], [0.5]])], [np.zeros((1, 3)), 1.0]])
        )
        self.k = np.array([[FOCAL, 0, 95.5], [0, FOCAL, 95.5], [0, 0, 1.0]])
        rows, columns = np.indices((SIZE, SIZE))
        rays = np.stack(
            [(columns - 95.5) / FOCAL, (rows - 95.5) / FOCAL, np.ones((SIZE, SIZE))], axis=-1
        )
        directions = rays @ self.pose.rotation.T
        with np.errstate(divide='ignore', invalid='ignore'):
            self.depth = -0.5 / directions[..., 2]
            self.owner = np.full((SIZE, SIZE), -1)
            for number, (low, high) in enumerate(boxes):
                t = (np.stack([low, high]) - self.pose.position)[:, None, None] / directions
                near, far = t.min(axis=0).max(axis=-1), t.max(axis=0).min(axis=-1)
                hit = (near < far) & (near > 0) & (near < self.depth)
                self.depth[hit], self.owner[hit] = near[hit], number
        self.depth[self.depth <= 0] = np.nan

    def frame(self, **changes):
        rgb = np.zeros((SIZE, SIZE, 3), np.uint8)
        given = {'rgb': rgb, 'depth': self.depth.astype(np.float32), **changes}
        return CameraFrame(
            'agentview', frame_id='agentview_optical', intrinsics=self.k, pose=self.pose, **given
        )

    def point(self, number):
        rows, columns = np.nonzero(self.owner == number)
        middle = np.argmin(np.hypot(rows - rows.mean(), columns - columns.mean()))
        return int(rows[middle]), int(columns[middle])


def iou(scene, number):
    (found,) = ClassicalSegmenter().segment(
        SegmentRequest(scene.frame(), point=scene.point(number))
    )
    visible = scene.owner == number
    return (found.mask & visible).sum() / (found.mask | visible).sum()


def box(x, y, width, height):
    half = width / 2
    return np.array([x - half, y - half, 0.0]), np.array([x + half, y + half, height])


def test_things_apart_are_told_apart():
    scene = Boxes(box(0.6, 0.1, 0.08, 0.1), box(0.6, -0.1, 0.06, 0.05))
    assert iou(scene, 0) > 0.9
    assert iou(scene, 1) > 0.9


def test_a_thing_on_another_is_one_of_its_own():
    low = (np.array([0.5, -0.12, 0.0]), np.array([0.74, 0.12, 0.06]))
    high = (np.array([0.6, -0.04, 0.06]), np.array([0.68, 0.04, 0.16]))
    scene = Boxes(low, high)
    assert iou(scene, 1) > 0.85
    assert iou(scene, 0) > 0.8


def test_one_in_front_of_another_does_not_swallow_it():
    scene = Boxes(box(0.55, 0.0, 0.06, 0.06), box(0.70, 0.0, 0.08, 0.14))
    assert iou(scene, 0) > 0.85
    assert iou(scene, 1) > 0.8


def test_the_surface_that_things_stand_on_is_no_thing():
    scene = Boxes(box(0.6, 0.1, 0.08, 0.1))
    assert ClassicalSegmenter().segment(SegmentRequest(scene.frame(), point=(160, 160))) == ()


@pytest.mark.parametrize(
    ('asked', 'changes', 'message'),
    [
        (
            {'text': 'the milk'}, {},
            'segment: the classical segmenter finds the thing at a point, got the text '
            "'the milk'; give a point on it",
        ),
        (
            {}, {},
            'segment: the classical segmenter finds the thing at a point, got neither text nor '
            'point; give a point on it',
        ),
        (
            {'point': (5, 5)}, {'depth': None},
            'segment: the image of agentview has no depth, which the classical segmenter needs; '
            'use another camera',
        ),
        (
            {'point': (5, 5)}, {'depth': np.full((SIZE, SIZE), np.nan, np.float32)},
            'segment: pixel [5, 5] of agentview has no valid depth; choose a pixel on an object',
        ),
    ],
)  # fmt: skip
def test_what_the_classical_segmenter_cannot_do(asked, changes, message):
    frame = Boxes().frame(**changes)
    with pytest.raises(InvalidRequest) as error:
        ClassicalSegmenter().segment(SegmentRequest(frame, **asked))
    assert str(error.value) == message


def test_requests_check_themselves():
    frame = Boxes().frame()
    for given, message in (
        ({'text': 'x', 'point': (1, 1)}, 'segment: expected text or point, got both'),
        (
            {'point': (192, 0)},
            'segment point: expected row 0 to 191 and column 0 to 191, got [192, 0]',
        ),
        ({'min_score': 1.5}, 'segment min_score: expected 0 to 1, got 1.5'),
    ):
        with pytest.raises(InvalidRequest) as error:
            SegmentRequest(frame, **given)
        assert str(error.value) == message
    with pytest.raises(InvalidRequest, match='expected at least one pixel, got none'):
        Instance(np.zeros((2, 2), bool))


def test_segmenters_are_found_by_name():
    assert 'classical' in known_segmenters()
    with pytest.raises(InvalidRequest) as error:
        make_segmenter('sharp', {})
    assert str(error.value) == (
        f"unknown segmenter 'sharp'; known segmenters: {', '.join(known_segmenters())}"
    )


class StandIn:
    """A segmenter client that answers what it is told to."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []

    def describe(self):
        return SegmenterSpec('stand-in', supports_text=True, supports_point=True)

    def segment(self, request):
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(request)


class Local:
    """The classical segmenter without a node."""

    def describe(self):
        return ClassicalSegmenter.spec

    def segment(self, request):
        return Segmentation(ClassicalSegmenter().segment(request))


def cube_pixel(toolkit, robot):
    """A pixel of agentview's high image on the red cube's top."""
    view = next(
        v for v in States(toolkit.output_dir).views()
        if (v.camera, v.resolution) == ('agentview', 'high')
    )  # fmt: skip
    top = robot._world.cubes[0] + [0.0, 0.0, 0.02]
    seen = view.pose.rotation.T @ (top - view.pose.position)
    column, row, _ = view.intrinsics @ (seen / seen[2])
    return [round(row), round(column)]


def test_the_tool_finds_a_cube(make_toolkit, robot):
    toolkit = make_toolkit(segmenter=Local())
    point = cube_pixel(toolkit, robot)
    result = toolkit.call('segment', {'camera': 'agentview', 'point': point})
    assert result.ok, result.message
    (found,) = result.data['instances']
    np.testing.assert_allclose(found['center'][:2], robot._world.cubes[0][:2], atol=0.012)
    assert found['top_z'] == pytest.approx(robot._world.cubes[0][2] + 0.02, abs=0.004)
    assert max(found['size']) < 0.06
    assert found['rows'][0] <= point[0] <= found['rows'][1]
    assert 'privileged' not in result.data
    (picture,) = result.images
    assert picture.path.name == '00_0_overlay.png'
    assert Image.open(picture.path).size == (128, 128)
    mask = np.array(Image.open(toolkit.output_dir / 'segments' / '00_0_mask0.png'))
    assert (mask > 0).sum() == found['n_pixels']
    kept = json.loads((toolkit.output_dir / 'segments' / '00_0.json').read_text())
    assert kept['instances'][0]['n_pixels'] == found['n_pixels']
    # A second call gets files of its own, and read_image shows the overlay again.
    again = toolkit.call('segment', {'camera': 'agentview', 'point': point})
    assert again.images[0].path.name == '00_1_overlay.png'
    assert toolkit.call('read_image', {'name': again.data['overlay']}).ok


def test_the_tool_hands_on_text_and_moment(make_toolkit):
    everything = StandIn(lambda request: Segmentation(
        (Instance(np.ones(request.frame.rgb.shape[:2], bool), label='cube', score=0.7),),
        privileged=True,
    ))
    toolkit = make_toolkit(segmenter=everything)
    assert toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]}).ok
    result = toolkit.call('segment', {'camera': 'wrist', 'text': 'a cube', 'min_score': 0.5})
    assert result.data['privileged'] is True
    assert result.data['instances'][0]['label'] == 'cube'
    (request,) = everything.requests
    assert (request.text, request.point, request.min_score) == ('a cube', None, 0.5)
    entry = States(toolkit.output_dir).entry()
    assert (request.episode, request.step) == (entry['episode'], entry['control_step'])


@pytest.mark.parametrize(('given', 'got'), [
    ({}, 'none'), ({'text': 'x', 'point': [1, 1]}, 'both'),
])  # fmt: skip
def test_the_tool_needs_one_of_text_and_point(make_toolkit, given, got):
    result = make_toolkit(segmenter=Local()).call('segment', {'camera': 'wrist', **given})
    assert result.code == ErrorCode.BAD_ARGUMENTS
    assert result.message == f'segment: expected exactly one of text and point, got {got}'


def test_nothing_found_says_what_to_do(make_toolkit):
    toolkit = make_toolkit(segmenter=StandIn(lambda request: Segmentation(())))
    result = toolkit.call('segment', {'camera': 'wrist', 'text': 'a cow'})
    assert result.code == ErrorCode.NOT_FOUND
    assert result.message == (
        'segment: "a cow" was not found in wrist (high, step 0); look at the image, choose a '
        'pixel on the object, and use back_project or query_world_map'
    )


def test_a_segmenter_that_is_gone_does_not_end_the_run(make_toolkit):
    from rpent_ros.session import FATAL

    gone = StandIn(PeerDied('/fake/segmenter/segment: the server died'))
    result = make_toolkit(segmenter=gone).call('segment', {'camera': 'wrist', 'text': 'a cow'})
    assert result.code == ErrorCode.SEGMENTATION_FAILED
    assert result.code not in FATAL
    assert result.message == (
        'segment: /fake/segmenter/segment: the server died; look at the image, choose a pixel on '
        'the object, and use back_project or query_world_map'
    )


def test_without_a_segmenter_the_tool_is_not_offered(make_toolkit):
    assert 'segment' not in [tool.name for tool in make_toolkit().tools]


@pytest.fixture
def knowing(env):
    """The privileged segmenter on the fake robot's labels, without nodes."""
    segmenter = PrivilegedSegmenter()
    segmenter.connect(
        lambda camera, width, height: env.core.label_image(camera, width=width, height=height)
    )

    class Client:
        def describe(self):
            return segmenter.spec

        def segment(self, request):
            return Segmentation(segmenter.segment(request), privileged=True)

    return Client()


def test_the_privileged_segmenter_knows_names_and_says_so(make_toolkit, knowing, robot):
    toolkit = make_toolkit(segmenter=knowing)
    result = toolkit.call('segment', {'camera': 'agentview', 'text': 'every cube'})
    assert result.data['privileged'] is True
    found = {instance['label']: instance for instance in result.data['instances']}
    assert set(found) == {'cube_1', 'cube_2', 'cube_3'}
    for number, cube in enumerate(robot._world.cubes, start=1):
        np.testing.assert_allclose(found[f'cube_{number}']['center'][:2], cube[:2], atol=0.012)
    point = cube_pixel(toolkit, robot)
    (found,) = toolkit.call('segment', {'camera': 'agentview', 'point': point}).data['instances']
    assert found['label'] == 'cube_1'


def test_the_privileged_segmenter_knows_the_present_only(make_toolkit, knowing):
    toolkit = make_toolkit(segmenter=knowing)
    assert toolkit.call('move_to', {'xyz': [0.45, 0.0, 0.3]}).ok
    result = toolkit.call('segment', {'camera': 'agentview', 'text': 'cube', 'step': 0})
    assert result.code == ErrorCode.INVALID_REQUEST
    assert result.message.startswith(
        'segment: the privileged segmenter knows the present only, episode 1 step '
    )
    assert result.message.endswith(
        'the image shows episode 1 step 0; ask about the newest state dump'
    )


def test_text_only_lists_objects_where_the_robot_may_know_them(make_toolkit, knowing, robot):
    seen = make_toolkit(segmenter=knowing, text_only=True).call('view_env_state', {}).data['seen']
    assert seen['privileged'] is True
    objects = {thing['name']: thing for thing in seen['objects']}
    assert set(objects) == {'cube_1', 'cube_2', 'cube_3', 'bin'}
    np.testing.assert_allclose(
        objects['cube_1']['center'][:2], robot._world.cubes[0][:2], atol=0.012
    )


def test_text_only_lists_none_where_it_may_not(make_toolkit):
    seen = make_toolkit(segmenter=Local(), text_only=True).call('view_env_state', {}).data['seen']
    assert 'objects' not in seen
    assert 'privileged' not in seen
