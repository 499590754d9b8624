"""The tools that look, on the fake robot's dumps: whole answers, whole refusals."""

import math

import numpy as np
import pytest
from PIL import Image

from robots.fake import camera as fake_camera
from rpent_ros.errors import ErrorCode
from rpent_ros.states import States

CUBE = 0.04


def refused(result, code, message):
    assert (result.ok, result.code, result.message) == (False, code, message)


def pixel_of(toolkit, point, camera='agentview', resolution='high', step=-1):
    """Where a camera sees a point (row, column), not rounded."""
    view = next(
        v
        for v in States(toolkit.output_dir).views(step)
        if (v.camera, v.resolution) == (camera, resolution)
    )
    seen = view.pose.rotation.T @ (np.asarray(point) - view.pose.position)
    column, row, _ = view.intrinsics @ (seen / seen[2])
    return row, column


def top_of(robot, cube):
    return robot._world.cubes[cube] + [0.0, 0.0, CUBE / 2]


def test_view_camera_meta(make_toolkit):
    toolkit = make_toolkit()
    data = toolkit.call('view_camera_meta', {'camera': 'wrist'}).data
    views = [view for view in States(toolkit.output_dir).views() if view.camera == 'wrist']
    pose = views[0].pose
    matrix = np.array(data['matrix'])
    np.testing.assert_allclose(matrix[:3, 3], pose.position)
    np.testing.assert_allclose(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), atol=1e-12)
    # Looks down: the optical axis is minus the base's z axis, more or less.
    assert matrix[2, 2] < -0.8
    assert data == {
        'camera': 'wrist',
        'step_idx': 0,
        'frame_id': 'base',
        'position': pose.position.tolist(),
        'quaternion_xyzw': pose.quaternion.tolist(),
        'matrix': data['matrix'],
        'images': [
            {
                'resolution': resolution,
                'image_size': [size, size],
                'intrinsics': pytest.approx(fake_camera.intrinsics(size, size)),
                'name': name,
            }
            for resolution, size, name in (
                ('policy', 64, 'images/00_wrist.png'),
                ('high', 128, 'images/00_wrist_high.png'),
            )
        ],
        'depth': {
            'name': 'depth/00_wrist_high.png',
            'unit': 0.0001,
            'min': data['depth']['min'],
            'max': data['depth']['max'],
            'valid': data['depth']['valid'],
        },
        'moves_with_tool': None,
        'conventions': data['conventions'],
    }
    assert 0.0 < data['depth']['min'] < 0.3 < data['depth']['max'] < 0.6
    assert data['depth']['valid'] == pytest.approx(1.0)


def test_which_camera_moves_is_known_once_the_tool_has_moved(make_toolkit):
    toolkit = make_toolkit()
    assert toolkit.call('move_to', {'xyz': [0.45, -0.1, 0.25]}).ok
    moves = {
        camera: toolkit.call('view_camera_meta', {'camera': camera}).data['moves_with_tool']
        for camera in ('agentview', 'wrist')
    }
    assert moves == {'agentview': False, 'wrist': True}


def test_view_camera_meta_of_a_camera_that_does_not_exist(make_toolkit):
    refused(
        make_toolkit().call('view_camera_meta', {'camera': 'front'}),
        ErrorCode.BAD_ARGUMENTS,
        "view_camera_meta: camera: expected one of agentview, wrist, got 'front' (a string)",
    )


def test_a_camera_that_was_not_recorded(make_toolkit):
    toolkit = make_toolkit()
    states = States(toolkit.output_dir)
    entry = states.entry()
    entry['step_idx'] = 1
    entry['views'] = [view for view in entry['views'] if view['camera'] == 'agentview']
    states.append(entry)
    message = "camera 'wrist' has not been recorded in step 1; recorded cameras: agentview"
    for tool, arguments in (
        ('view_camera_meta', {}), ('read_image', {}), ('back_project', {'pixel': [1, 1]}),
        ('query_world_map', {}),
    ):  # fmt: skip
        answer = toolkit.call(tool, {'camera': 'wrist', **arguments})
        refused(answer, ErrorCode.UNKNOWN_CAMERA, message)
    assert toolkit.call('read_image', {'camera': 'wrist', 'step': 0}).ok


def test_read_image_of_an_earlier_step(make_toolkit):
    toolkit = make_toolkit()
    assert toolkit.call('move_to', {'xyz': [0.45, -0.1, 0.25]}).ok
    result = toolkit.call('read_image', {'camera': 'wrist', 'step': 0, 'resolution': 'policy'})
    assert result.data == {
        'camera': 'wrist',
        'resolution': 'policy',
        'step_idx': 0,
        'frame_id': 'base',
        'name': 'images/00_wrist.png',
        'image_size': [64, 64],
        'rows': [0, 63],
        'columns': [0, 63],
        'zoom': 1,
        'offset': [0, 0],
        'mapping': '[row, column] of this picture is the pixel [row, column] of the policy image '
        'of wrist',
    }
    (image,) = result.images
    assert (image.camera, image.width, image.height) == ('wrist', 64, 64)
    assert image.path == toolkit.output_dir / 'images/00_wrist.png'


def test_read_image_of_a_part(make_toolkit):
    toolkit = make_toolkit()
    region = {'rows': [40, 300], 'columns': [10, 39]}
    result = toolkit.call('read_image', {'camera': 'agentview', 'region': region})
    assert (result.data['rows'], result.data['columns']) == ([40, 127], [10, 39])
    assert (result.data['zoom'], result.data['offset']) == (8, [0, 0])
    assert result.data['mapping'] == (
        '[row, column] of this picture is the pixel [40 + row / 8, 10 + column / 8], rounded '
        'down, of the high image of agentview'
    )
    (image,) = result.images
    assert image.path.name == '00_agentview_high_r40-127_c10-39_x8.png'
    part = np.array(Image.open(image.path))
    assert part.shape == (88 * 8, 30 * 8, 3)
    assert (image.height, image.width) == part.shape[:2]
    whole = np.array(Image.open(toolkit.output_dir / 'images/00_agentview_high.png'))
    means = part.reshape(88, 8, 30, 8, 3).mean(axis=(1, 3))
    assert np.median(np.abs(means - whole[40:, 10:40])) < 1.0


def test_read_image_with_rulers_of_a_picture_by_name(make_toolkit):
    toolkit = make_toolkit()
    Image.new('L', (40, 30), 99).save(toolkit.output_dir / 'images' / 'overlay.png')
    result = toolkit.call('read_image', {'name': 'images/overlay.png', 'rulers': True, 'zoom': 2})
    assert result.data == {
        'name': 'images/overlay.png',
        'image_size': [30, 40],
        'rows': [0, 29],
        'columns': [0, 39],
        'zoom': 2,
        'offset': [14, 30],
        'mapping': '[row, column] of this picture is the pixel [(row - 14) / 2, '
        '(column - 30) / 2], rounded down, of images/overlay.png; the rulers already count in '
        'pixels of it',
    }
    (image,) = result.images
    assert (image.camera, image.width, image.height) == ('images/overlay.png', 110, 74)
    assert Image.open(image.path).size == (110, 74)


@pytest.mark.parametrize('given', [{}, {'camera': 'wrist', 'name': 'images/00_wrist.png'}])
def test_read_image_takes_a_camera_or_a_name(make_toolkit, given):
    got = 'both' if given else 'none'
    refused(
        make_toolkit().call('read_image', given),
        ErrorCode.BAD_ARGUMENTS,
        f'read_image: expected exactly one of camera and name, got {got}',
    )


@pytest.mark.parametrize(
    'name', ['../secret.png', 'states.json', 'images/none.png', 'depth/00_wrist.png', '/etc/x.png']
)
def test_read_image_shows_colour_pictures_of_this_run_only(make_toolkit, tmp_path, name):
    toolkit = make_toolkit()
    Image.new('RGB', (4, 4)).save(tmp_path.parent / 'secret.png')
    refused(
        toolkit.call('read_image', {'name': name}),
        ErrorCode.BAD_PATH,
        'read_image: expected name to be a colour picture of this run, as the artifacts of '
        f'view_env_state list them, such as images/00_agentview.png, got {name!r}',
    )


def test_read_image_of_a_region_outside(make_toolkit):
    region = {'rows': [200, 220], 'columns': [0, 9]}
    refused(
        make_toolkit().call('read_image', {'camera': 'wrist', 'region': region}),
        ErrorCode.BAD_PIXEL,
        'region rows [200, 220], columns [0, 9] holds no pixel of the 128 x 128 image of the high '
        'image of wrist; expected first before last, rows 0 to 127 and columns 0 to 127',
    )


def test_artifacts_of_a_state_are_pictures_to_read(make_toolkit):
    toolkit = make_toolkit()
    names = toolkit.call('view_env_state', {}).data['artifacts']
    pictures = [name for name in names if name.startswith('images/')]
    assert len(pictures) == 4
    assert all(toolkit.call('read_image', {'name': name}).ok for name in pictures)


def test_back_project_of_several_pixels(make_toolkit, robot):
    toolkit = make_toolkit()
    pixels = [
        [round(part) for part in pixel_of(toolkit, top_of(robot, cube))] for cube in range(3)
    ]
    result = toolkit.call(
        'back_project', {'camera': 'agentview', 'pixels': [*pixels, [0, 0], [500, 3]]}
    )
    assert result.ok
    data = result.data
    assert [point['pixel'] for point in data['points']] == [*pixels, [0, 0], [500, 3]]
    assert [point['valid'] for point in data['points']] == [True] * 3 + [False] * 2
    for cube, point in enumerate(data['points'][:3]):
        np.testing.assert_allclose(point['xyz'], top_of(robot, cube), atol=0.012)
    assert data['points'][3]['error'] == (
        'pixel [0, 0] of agentview (high, step 0) has no valid depth: it shows nothing within '
        'range; choose a pixel on an object'
    )
    assert data['points'][4]['error'].startswith('pixel [500, 3] lies outside the 128 x 128')
    xyz = np.array([point['xyz'] for point in data['points'][:3]])
    np.testing.assert_allclose(data['xyz'], np.median(xyz, axis=0))
    assert data['n_valid'] == 3
    one = toolkit.call('back_project', {'camera': 'agentview', 'pixel': pixels[0]})
    assert one.data['xyz'] == data['points'][0]['xyz']


@pytest.mark.parametrize(
    ('given', 'code', 'message'),
    [
        (
            {'pixels': [[0, 0], [0, 1]]},
            ErrorCode.BAD_PIXEL,
            'none of 2 pixels shows a point; the first: pixel [0, 0] of agentview (high, step 0) '
            'has no valid depth: it shows nothing within range; choose a pixel on an object',
        ),
        (
            {'pixels': []},
            ErrorCode.BAD_ARGUMENTS,
            'back_project: pixels: expected null or 1 to 50 lists of 2 whole numbers, got 0',
        ),
        (
            {'pixels': [[1, 1]] * 51},
            ErrorCode.BAD_ARGUMENTS,
            'back_project: pixels: expected null or 1 to 50 lists of 2 whole numbers, got 51',
        ),
        (
            {'pixels': [[1, 1], [2]]},
            ErrorCode.BAD_ARGUMENTS,
            'back_project: pixels[1]: expected 2 whole numbers, got 1',
        ),
        (
            {'pixels': [[1, 1]], 'pixel': [1, 1]},
            ErrorCode.BAD_ARGUMENTS,
            'back_project: expected exactly one of pixel, pixels and region, got pixel and pixels',
        ),
    ],
)
def test_back_project_refusals(make_toolkit, given, code, message):
    result = make_toolkit().call('back_project', {'camera': 'agentview', **given})
    if code == ErrorCode.BAD_ARGUMENTS and 'null or' in message:
        # The words for null may come first or last.
        message = message.replace('null or 1 to 50 lists of 2 whole numbers',
                                  '1 to 50 lists of 2 whole numbers or null')
    refused(result, code, message)


def test_back_project_tells_size_and_direction_of_a_region(make_toolkit, robot):
    toolkit = make_toolkit()
    top = top_of(robot, 0)
    row, column = pixel_of(toolkit, top, 'wrist')
    # Whole numbers may come as 3.0 and are rows all the same.
    region = {
        'rows': [float(round(row) - 12), round(row) + 12],
        'columns': [round(column) - 12, round(column) + 12],
        'z_min': 0.03,
    }
    data = toolkit.call('back_project', {'camera': 'wrist', 'region': region}).data
    np.testing.assert_allclose(data['center'][:2], top[:2], atol=0.005)
    assert data['size'][:2] == pytest.approx([CUBE, CUBE], abs=0.008)
    assert data['top_z'] == pytest.approx(0.04, abs=0.001)
    yaw = robot._world.yaws[0]
    off = (data['long_yaw'] - yaw) % (math.pi / 2)
    assert min(off, math.pi / 2 - off) < 0.15
    assert abs(data['long_yaw'] - data['short_yaw']) == pytest.approx(math.pi / 2)


def test_query_world_map_lists_the_cubes_and_the_bin(make_toolkit, robot):
    result = make_toolkit().call('query_world_map', {'camera': 'agentview', 'z_max': 0.2})
    assert result.ok
    data = result.data
    assert list(data) == [
        'camera', 'resolution', 'step_idx', 'frame_id', 'x_range', 'y_range', 'z_band',
        'surface_z', 'clusters', 'n_clusters',
    ]  # fmt: skip
    assert data['surface_z'] == pytest.approx(0.0, abs=0.001)
    assert data['z_band'] == pytest.approx([0.006, 0.2], abs=0.001)
    cubes = {}
    for cluster in data['clusters']:
        assert cluster['at_tool'] is False
        assert cluster['whole'] is True
        assert cluster['camera'] == 'agentview'
        assert cluster['rows'][0] <= cluster['pixel'][0] <= cluster['rows'][1]
        assert cluster['columns'][0] <= cluster['pixel'][1] <= cluster['columns'][1]
        cubes[cluster['colour']] = cluster
    assert data['n_clusters'] == len(data['clusters']) == 4
    assert set(cubes) == {'brown', 'red', 'blue', 'green'}
    for cube, colour in enumerate(('red', 'blue', 'green')):
        np.testing.assert_allclose(
            cubes[colour]['center'][:2], robot._world.cubes[cube][:2], atol=0.012
        )
        assert cubes[colour]['top_z'] == pytest.approx(CUBE, abs=0.002)
    assert cubes['brown']['size'][:2] == pytest.approx([0.15, 0.15], abs=0.015)


def test_query_world_map_pixel_leads_back_to_the_object(make_toolkit, robot):
    toolkit = make_toolkit()
    data = toolkit.call('query_world_map', {'z_max': 0.2}).data
    red = next(cluster for cluster in data['clusters'] if cluster['colour'] == 'red')
    point = toolkit.call(
        'back_project', {'camera': red['camera'], 'pixel': red['pixel']}
    ).data['xyz']
    np.testing.assert_allclose(point[:2], robot._world.cubes[0][:2], atol=CUBE / 2 + 0.005)


def test_query_world_map_knows_the_gripper(make_toolkit):
    data = make_toolkit().call('query_world_map', {'camera': 'wrist', 'z_min': 0.2}).data
    assert data['clusters']
    assert all(cluster['at_tool'] for cluster in data['clusters'])


def test_query_world_map_of_a_held_cube(make_toolkit, robot):
    toolkit = make_toolkit()
    assert toolkit.call('scripted_grasp', {'xyz': robot._world.cubes[0].tolist()}).ok
    data = toolkit.call('query_world_map', {'camera': 'agentview', 'z_max': 0.3}).data
    held = robot._world.cubes[0]
    (near,) = [
        cluster
        for cluster in data['clusters']
        if np.linalg.norm(np.array(cluster['center'][:2]) - held[:2]) < 0.05
    ]
    assert near['at_tool'] is True


def test_query_world_map_in_ranges(make_toolkit, robot):
    toolkit = make_toolkit()
    x, y, _ = robot._world.cubes[1]
    data = toolkit.call('query_world_map', {
        'x_range': [x - 0.04, x + 0.04], 'y_range': [y - 0.04, y + 0.04], 'z_max': 0.1,
    }).data  # fmt: skip
    (cluster,) = data['clusters']
    assert cluster['colour'] == 'blue'
    assert (data['x_range'], data['resolution']) == ([x - 0.04, x + 0.04], 'high')
    # Although the cube fills most of what lies in these ranges, it is not taken for the surface.
    assert data['surface_z'] == pytest.approx(0.0, abs=0.001)


def test_query_world_map_of_an_empty_band(make_toolkit):
    data = make_toolkit().call('query_world_map', {'z_min': 0.07, 'z_max': 0.09}).data
    assert (data['clusters'], data['n_clusters']) == ([], 0)
    assert data['hint'].startswith(
        'nothing stands between 0.070 and 0.090 m there; heights seen: 0.000 to 0.'
    )
    nowhere = make_toolkit().call('query_world_map', {'x_range': [5.0, 6.0]}).data
    assert nowhere['clusters'] == []
    assert nowhere['hint'] == 'the cameras see nothing there; widen x_range and y_range'


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        (
            {'x_range': [0.5, 0.4]},
            'query_world_map: x_range: expected the lower bound first, got 0.5 and 0.4 m',
        ),
        (
            {'z_min': 0.3, 'z_max': 0.1},
            'query_world_map: z_min and z_max: expected the lower bound first, got 0.3 and 0.1 m',
        ),
        (
            {'camera': 'front'},
            'query_world_map: camera: expected one of agentview, wrist, all, '
            "got 'front' (a string)",
        ),
    ],
)
def test_query_world_map_refusals(make_toolkit, given, message):
    refused(
        make_toolkit().call('query_world_map', given), ErrorCode.BAD_ARGUMENTS, message
    )


def test_cameras_without_depth(make_toolkit):
    toolkit = make_toolkit()
    states = States(toolkit.output_dir)
    entry = states.entry()
    entry['step_idx'] = 1
    for view in entry['views']:
        view['depth'] = ''
    states.append(entry)
    none = 'wrist (high, step 1) has no depth; use another camera'
    refused(
        toolkit.call('back_project', {'camera': 'wrist', 'pixel': [3, 3]}),
        ErrorCode.BAD_PIXEL,
        none,
    )
    refused(toolkit.call('query_world_map', {'camera': 'wrist'}), ErrorCode.BAD_PIXEL, none)
    refused(
        toolkit.call('query_world_map', {}),
        ErrorCode.BAD_PIXEL,
        'no camera of step 1 has depth',
    )
    assert toolkit.call('view_camera_meta', {'camera': 'wrist'}).data['depth'] is None


def test_a_full_disk_refuses_the_cut_out(make_toolkit, monkeypatch):
    from rpent_ros import files

    toolkit = make_toolkit()

    def full(path, data):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(files, 'write_bytes', full)
    refused(
        toolkit.call('read_image', {'camera': 'wrist', 'zoom': 2}),
        ErrorCode.BAD_OUTPUT_DIR,
        f'output_dir {toolkit.output_dir}: 00_wrist_high_r0-127_c0-127_x2.png cannot be written: '
        'No space left on device; free some space there, or choose a folder on another disk; what '
        'was written before is intact',
    )
    assert toolkit.call('read_image', {'camera': 'wrist'}).ok


def test_a_proposed_grasp_holds(make_toolkit, robot):
    toolkit = make_toolkit()
    data = toolkit.call('query_world_map', {'z_max': 0.2}).data
    blue = next(cluster for cluster in data['clusters'] if cluster['colour'] == 'blue')
    best = blue['grasps'][0]
    assert list(best) == ['hold', 'xyz', 'yaw', 'width', 'clear', 'upright']
    result = toolkit.call('scripted_grasp', {'xyz': best['xyz'], 'yaw': best['yaw']})
    assert result.ok
    assert robot._world.held == 1
    # The bin is too wide for any but of its rim.
    bin_ = next(cluster for cluster in data['clusters'] if cluster['colour'] == 'brown')
    assert all(grasp['hold'] == 'rim' for grasp in bin_['grasps'])


def test_what_the_border_of_the_image_cuts_is_not_whole(make_toolkit, robot):
    toolkit = make_toolkit()
    x, y, _ = robot._world.cubes[0]
    # The wrist camera looks straight down: the cube moves to the border of its image.
    found = {}
    for away in (0.0, 0.05, 0.10, 0.15):
        assert toolkit.call('move_to', {'xyz': [x, y + away, 0.2]}).ok
        data = toolkit.call('query_world_map', {'camera': 'wrist', 'z_max': 0.1}).data
        red = next((c for c in data['clusters'] if c['colour'] == 'red'), None)
        if red is not None:
            cut = 0 in (*red['rows'], *red['columns']) or 127 in (*red['rows'], *red['columns'])
            found[red['whole']] = red
            assert red['whole'] is not cut
    assert set(found) == {True, False}
