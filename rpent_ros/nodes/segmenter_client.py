"""The agent's side of a segmenter, over ROS."""

from __future__ import annotations

from rclpy.node import Node

from rpent_msgs.srv import DescribeSegmenter, Segment
from rpent_ros.contracts.segmentation import Segmentation, SegmenterSpec, SegmentRequest
from rpent_ros.nodes import convert
from rpent_ros.nodes.client import DEFAULT_WAIT_S, ServiceCaller

DESCRIBE_TIMEOUT_S = 5.0
# A large model on a processor takes its time.
SEGMENT_TIMEOUT_S = 60.0


class RosSegmenterClient:
    """Implements `rpent_ros.ports.SegmenterClient` with the segmenter node's services.

    Args:
      node: spun by an executor on another thread.
      segmenter: name of the segmenter node, relative to the node's namespace or absolute.
      wait_s: how long to wait for it to appear [s].
    """

    def __init__(
        self, node: Node, *, segmenter: str = 'segmenter', wait_s: float = DEFAULT_WAIT_S
    ) -> None:
        self._describe = ServiceCaller(
            node, DescribeSegmenter, f'{segmenter}/describe', wait_s=wait_s
        )
        self._segment = ServiceCaller(node, Segment, f'{segmenter}/segment', wait_s=wait_s)

    def describe(self) -> SegmenterSpec:
        """What the segmenter can do."""
        response = self._describe.call(
            DescribeSegmenter.Request(), timeout_s=DESCRIBE_TIMEOUT_S
        )
        return convert.segmenter_spec_from_msg(response.spec)

    def segment(self, request: SegmentRequest) -> Segmentation:
        """Which pixels show what is looked for."""
        response = self._segment.call(
            convert.segment_request_to_msg(request), timeout_s=SEGMENT_TIMEOUT_S
        )
        return convert.segmentation_from_msg(response)
