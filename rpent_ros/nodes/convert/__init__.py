"""Message to contract and back, nothing else.

Every pair is called `<contract>_to_msg` and `<contract>_from_msg`.  Large arrays move without
per-element work: out through `array.array`, in as numpy views of the message's own buffer.

  geometry      stamps, headers, vectors, poses
  observation   images, camera frames, observations
  specs         what drivers and policies say about themselves
  motion        actions, goals, results
  scene         the simulator's privileged view
  segmentation  what is asked of a segmenter and what it answers
  labels        which object each pixel shows, privileged
  tensors       named n-dimensional arrays
"""

from rpent_ros.nodes.convert.geometry import (
    header,
    pose_from_msg,
    pose_to_msg,
    stamp_from_msg,
    stamp_to_msg,
)
from rpent_ros.nodes.convert.labels import label_image_from_msg, label_image_to_msg
from rpent_ros.nodes.convert.motion import (
    action_chunk_from_msg,
    action_chunk_to_msg,
    clamp_from_msg,
    clamp_to_msg,
    error_code,
    execute_chunk_result_from_msg,
    execute_chunk_result_to_msg,
    inference_from_msg,
    inference_to_msg,
    move_to_goal_from_msg,
    move_to_goal_to_msg,
    move_to_result_from_msg,
    move_to_result_to_msg,
    step_result_from_msg,
    step_result_to_msg,
)
from rpent_ros.nodes.convert.observation import (
    camera_frame_from_msg,
    camera_frame_to_msg,
    camera_info_to_msg,
    depth_from_msg,
    depth_to_msg,
    joint_state_to_msg,
    observation_from_msg,
    observation_to_msg,
    optional_observation_from_msg,
    rgb_from_msg,
    rgb_to_msg,
)
from rpent_ros.nodes.convert.scene import scene_from_msg, scene_to_msg
from rpent_ros.nodes.convert.segmentation import (
    segment_request_from_msg,
    segment_request_to_msg,
    segmentation_from_msg,
    segmentation_to_msg,
    segmenter_spec_from_msg,
    segmenter_spec_to_msg,
)
from rpent_ros.nodes.convert.specs import (
    action_spec_from_msg,
    action_spec_to_msg,
    camera_spec_from_msg,
    camera_spec_to_msg,
    driver_spec_from_msg,
    driver_spec_to_msg,
    limits_from_msg,
    limits_to_msg,
    policy_spec_from_msg,
    policy_spec_to_msg,
    state_spec_from_msg,
    state_spec_to_msg,
)
from rpent_ros.nodes.convert.tensors import tensor_from_msg, tensor_to_msg

__all__ = [
    'action_chunk_from_msg', 'action_chunk_to_msg', 'action_spec_from_msg',
    'action_spec_to_msg', 'camera_frame_from_msg', 'camera_frame_to_msg',
    'camera_info_to_msg', 'camera_spec_from_msg', 'camera_spec_to_msg', 'clamp_from_msg',
    'clamp_to_msg', 'depth_from_msg', 'depth_to_msg', 'driver_spec_from_msg',
    'driver_spec_to_msg', 'error_code', 'execute_chunk_result_from_msg',
    'execute_chunk_result_to_msg', 'header', 'inference_from_msg', 'inference_to_msg',
    'joint_state_to_msg', 'label_image_from_msg', 'label_image_to_msg',
    'limits_from_msg', 'limits_to_msg', 'move_to_goal_from_msg',
    'move_to_goal_to_msg', 'move_to_result_from_msg', 'move_to_result_to_msg',
    'observation_from_msg', 'observation_to_msg', 'optional_observation_from_msg',
    'policy_spec_from_msg', 'policy_spec_to_msg', 'pose_from_msg', 'pose_to_msg',
    'rgb_from_msg', 'rgb_to_msg', 'scene_from_msg', 'scene_to_msg',
    'segment_request_from_msg', 'segment_request_to_msg', 'segmentation_from_msg',
    'segmentation_to_msg', 'segmenter_spec_from_msg', 'segmenter_spec_to_msg', 'stamp_from_msg',
    'stamp_to_msg', 'state_spec_from_msg', 'state_spec_to_msg', 'step_result_from_msg',
    'step_result_to_msg', 'tensor_from_msg', 'tensor_to_msg',
]
