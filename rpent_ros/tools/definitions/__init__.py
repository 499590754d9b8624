"""The tools of a manipulator as language models see them.

One definition per tool: the schema that refuses bad arguments, the words in the prompt and the
table in the documentation all come from here.
"""

from __future__ import annotations

from collections.abc import Sequence

from rpent_ros.tools.definition import ToolDefinition
from rpent_ros.tools.definitions import common, motion, perception, segmentation, skills


def manipulation_tools(cameras: Sequence[str]) -> tuple[ToolDefinition, ...]:
    """All tools of a manipulator with these cameras, in the order in which models see them."""
    return (
        perception.view_env_state(),
        perception.view_camera_meta(cameras),
        perception.read_image(cameras),
        perception.back_project(cameras),
        perception.query_world_map(cameras),
        segmentation.segment(cameras),
        motion.move_to(),
        motion.move_delta(),
        motion.move_pose(),
        motion.rotate_wrist(),
        motion.rotate_pitch(),
        motion.set_gripper(),
        motion.release(),
        motion.scripted_grasp(),
        skills.pi0_pick(),
        skills.pi0_doubled(),
        common.read_text_file(),
        common.write_text_file(),
        common.list_dir(),
        common.finish(),
    )
