"""Which object each pixel shows.  PRIVILEGED."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import Image

from rpent_msgs.srv import ObserveLabels
from rpent_ros.contracts.labels import Label, LabelImage
from rpent_ros.errors import InvalidRequest
from rpent_ros.nodes.convert.geometry import octets

_IDS = '16UC1'


def label_image_to_msg(image: LabelImage) -> ObserveLabels.Response:
    """ObserveLabels response of a contract label image."""
    height, width = image.ids.shape
    ids = Image(height=height, width=width, encoding=_IDS, step=2 * width)
    ids.data = octets(np.ascontiguousarray(image.ids, '<u2').view(np.uint8).reshape(-1))
    return ObserveLabels.Response(
        ids=ids,
        labels=[label.name for label in image.labels],
        parents=[label.parent for label in image.labels],
        movable=[label.movable for label in image.labels],
        episode=image.episode,
        step=image.step,
    )


def label_image_from_msg(msg: ObserveLabels.Response, camera: str) -> LabelImage:
    """Contract label image of an ObserveLabels response.

    Raises:
      InvalidRequest: the image is malformed.
    """
    ids = msg.ids
    if ids.encoding != _IDS or len(ids.data) != 2 * ids.height * ids.width:
        raise InvalidRequest(
            f'label image of {camera}: expected {ids.height} x {ids.width} numbers of {_IDS}, got '
            f'{len(ids.data)} bytes of {ids.encoding!r}'
        )
    rows = zip(msg.labels, msg.parents, msg.movable, strict=True)
    return LabelImage(
        camera,
        ids=np.frombuffer(ids.data, '<u2').reshape(ids.height, ids.width).astype(np.uint16),
        labels=tuple(
            Label(name, parent=parent, movable=movable) for name, parent, movable in rows
        ),
        episode=msg.episode,
        step=msg.step,
    )
