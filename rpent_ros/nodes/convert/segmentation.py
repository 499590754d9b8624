"""What is asked of a segmenter and what it answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from rpent_msgs.msg import SegmenterSpec as SegmenterSpecMsg
from rpent_msgs.msg import SegmentInstance
from rpent_msgs.srv import Segment
from rpent_ros.contracts.segmentation import (
    Instance,
    Segmentation,
    SegmenterSpec,
    SegmentRequest,
)
from rpent_ros.errors import InvalidRequest
from rpent_ros.nodes.convert.geometry import octets
from rpent_ros.nodes.convert.observation import camera_frame_from_msg, camera_frame_to_msg

_MASK = 'mono8'


def segmenter_spec_to_msg(spec: SegmenterSpec) -> SegmenterSpecMsg:
    """Segmenter spec message of a contract segmenter spec."""
    return SegmenterSpecMsg(
        name=spec.name,
        supports_text=spec.supports_text,
        supports_point=spec.supports_point,
        privileged=spec.privileged,
    )


def segmenter_spec_from_msg(msg: SegmenterSpecMsg) -> SegmenterSpec:
    """Contract segmenter spec of a segmenter spec message."""
    return SegmenterSpec(
        msg.name,
        supports_text=msg.supports_text,
        supports_point=msg.supports_point,
        privileged=msg.privileged,
    )


def segment_request_to_msg(request: SegmentRequest) -> Segment.Request:
    """Segment request of a contract request."""
    row, column = request.point or (0, 0)
    return Segment.Request(
        frame=camera_frame_to_msg(request.frame),
        text=request.text,
        has_point=request.point is not None,
        row=int(row),
        column=int(column),
        min_score=float(request.min_score),
        episode=request.episode,
        step=request.step,
    )


def segment_request_from_msg(msg: Segment.Request) -> SegmentRequest:
    """Contract request of a segment request.

    Raises:
      InvalidRequest: the image is malformed, or what is asked makes no sense.
    """
    return SegmentRequest(
        camera_frame_from_msg(msg.frame),
        text=msg.text,
        point=(msg.row, msg.column) if msg.has_point else None,
        min_score=msg.min_score,
        episode=msg.episode,
        step=msg.step,
    )


def segmentation_to_msg(answer: Segmentation, head: Header) -> Segment.Response:
    """Segment response of a contract answer; `head` is the image's header."""
    return Segment.Response(
        instances=[_instance_to_msg(instance, head) for instance in answer.instances],
        privileged=answer.privileged,
        infer_ms=float(answer.infer_ms),
    )


def segmentation_from_msg(msg: Segment.Response) -> Segmentation:
    """Contract answer of a segment response.

    Raises:
      InvalidRequest: a mask is malformed.
    """
    return Segmentation(
        tuple(_instance_from_msg(instance) for instance in msg.instances),
        privileged=msg.privileged,
        infer_ms=msg.infer_ms,
    )


def _instance_to_msg(instance: Instance, head: Header) -> SegmentInstance:
    height, width = instance.mask.shape
    image = Image(header=head, height=height, width=width, encoding=_MASK, step=width)
    image.data = octets(np.where(instance.mask, 255, 0).astype(np.uint8).reshape(-1))
    return SegmentInstance(label=instance.label, score=float(instance.score), mask=image)


def _instance_from_msg(msg: SegmentInstance) -> Instance:
    return Instance(_mask_from_msg(msg.mask), label=msg.label, score=msg.score)


def _mask_from_msg(msg: Image) -> NDArray[np.bool_]:
    if msg.encoding != _MASK or len(msg.data) != msg.height * msg.width:
        raise InvalidRequest(
            f'segment mask: expected {msg.height} x {msg.width} bytes of {_MASK}, got '
            f'{len(msg.data)} of {msg.encoding!r}'
        )
    return np.frombuffer(msg.data, np.uint8).reshape(msg.height, msg.width) > 127
