"""Prompt sections that every manipulator shares.  Placeholders are filled by `rpent_ros.agent`."""

from __future__ import annotations

from rpent_ros.prompts import BulletList, Numbered

FRAMES = BulletList([
    'All positions are [x, y, z] in metres in the frame {{base_frame}}; z points up; angles are '
    'in radians.  Pitch 0 points the tool straight down; yaw turns it about its approach axis, '
    'counter-clockwise seen from above.',
    'The tool centre point is the point between the finger pads.  It can be sent to places in '
    'the workspace box: {{workspace}}.  A target outside, or out of the reach of the arm, is '
    'refused and nothing moves.',
    'Pixels are [row, column], [0, 0] is top left.  {{sight}}',
    'Cameras: {{cameras}}.',
])


def sight(text_only: bool, image_size: int) -> dict[str, str]:
    """Placeholders about what the planner sees.

    Args:
      text_only: no pictures, but words and numbers.
      image_size: longer side of the pictures [px]; 0: as policies see.
    """
    if text_only:
        return {
            'sight': 'You see no pictures.  After each motion `seen` lists the things that stand '
            'out in the depth images of all cameras: center, size, top_z, short_yaw, colour, and '
            'a pixel well inside, counted in the resolution "policy" of back_project.',
            'find': 'Find the object among the things in `seen`, by its place, size and colour.  '
            'One with at_tool is the gripper or what it holds.  If two fit, look closer with '
            'query_world_map.',
        }
    size = f'up to {image_size} pixels wide' if image_size else 'of the size that policies see'
    return {
        'sight': f'The answers come with upright images {size}; that is the resolution "high" of '
        'back_project.',
        'find': 'Find the object in the images.  If it is small, or several look alike, look '
        'closer: read_image of a region with rulers; their numbers are pixels as back_project '
        'takes them.',
    }


TOOLS = BulletList([
    'Available: {{tools}}.  Some clients show a tool under a longer name, mcp__rpent__move_to for '
    'move_to: it is the same tool.',
    'One tool at a time.  A tool that moves answers when the motion has ended, and its answer '
    'already holds the new state and what is seen: do not call view_env_state to see them again.',
    'Every answer says ok, code and message.  If ok is false the message says what was expected '
    'and what to do; hint says more.  Check settled and distance_left before you rely on a pose.',
    'The gripper keeps its last command unless a tool is told otherwise, so a held object stays '
    'held while the arm moves.',
])

LOCALISE = Numbered([
    '{{find}}',
    'Choose a pixel well inside the object and call back_project.  A large spread means that the '
    'pixel lies on an edge: choose another.',
    'Call query_world_map with z_min 0.01 m below that point, so that what the object stands on '
    'or leans against stays out; the object is the cluster whose center is nearest to the point.  '
    'If its size is that of several things, they touch: raise z_min, or narrow x_range and '
    'y_range.',
    'If another thing hides part of it, or to be exact, move_to 0.15 m above its top_z and call '
    'query_world_map with camera wrist: what is seen from above has the right place and size.',
    'The grasps of a cluster are ready for scripted_grasp: xyz and yaw, best first.  Do not '
    'trust one with upright below 0.5, which is a slope, or with a small clear, where the hand '
    'hits a neighbour.  If one is OUT_OF_REACH, try the next.  No grasps: take a handle, or the '
    'learned policy.',
    'To place something, take the center of the target and the height of the surface there: '
    'back_project of a pixel on it.',
])

RECOVERY = BulletList([
    'NOT_GRASPED: release, go up at least 0.15 m, look again, then try again; word the '
    'prompt differently or use scripted_grasp on a point that you measured.',
    'NOT_REACHED: something is in the way or the arm is at its limit.  Go up, then sideways.',
    'BAD_ARGUMENTS: nothing moved; correct the arguments.',
    'OUT_OF_WORKSPACE: choose a target inside the box; if the tool has left it, come back first.',
    'OUT_OF_REACH: nothing moved; come nearer to the base or the middle of the box, use another '
    'yaw, or go to the middle of the box first.',
    'BAD_PIXEL: choose a pixel on the object, not beside it.',
    'The same call with the same result twice: change something, do not repeat it.',
    'EPISODE_OVER: nothing can move any more; call finish.',
    'STOPPED: a person stopped the robot.  Do not try to get around it; finish with stuck.',
])

OUTPUT = BulletList([
    'End with exactly one call of finish: status success, failure or stuck, and a summary of what '
    'you did and what you saw last.',
    "The task's own predicate decides what was achieved; your claim is recorded beside it, so "
    'claim success only for what you have seen.',
    'You have {{max_tool_calls}} tool calls.',
])

USER = {
    'Task': '{{instruction}}',
    'Run': 'Robot {{robot}}, suite {{suite}}, task {{task}}, seed {{seed}} ({{recipe_tag}}).  '
    'The scene has been reset and the arm stands still.  Begin.',
}
