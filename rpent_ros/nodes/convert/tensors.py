"""Named n-dimensional arrays, for policy inputs that no other message holds."""

from __future__ import annotations

import array
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_msgs.msg import Tensor
from rpent_ros.errors import InvalidRequest
from rpent_ros.nodes.convert.geometry import octets


def tensor_to_msg(name: str, value: NDArray[Any]) -> Tensor:
    """Tensor message of an array of numbers or booleans.

    Raises:
      InvalidRequest: the array holds objects or text.
    """
    value = np.asarray(value)
    if value.dtype.kind not in 'biuf':
        raise InvalidRequest(f'tensor {name}: expected numbers or booleans, got {value.dtype}')
    little = np.ascontiguousarray(value, value.dtype.newbyteorder('<'))
    return Tensor(
        name=name,
        dtype=value.dtype.name,
        shape=array.array('I', value.shape),
        data=octets(little.reshape(-1).view(np.uint8)),
    )


def tensor_from_msg(msg: Tensor) -> tuple[str, NDArray[Any]]:
    """Name and array of a tensor message; the array is a view of its buffer.

    Raises:
      InvalidRequest: unknown element type, or the buffer does not fit the shape.
    """
    try:
        dtype = np.dtype(msg.dtype).newbyteorder('<')
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in 'biuf':
        raise InvalidRequest(f'tensor {msg.name}: expected a numeric type, got {msg.dtype!r}')
    shape = tuple(msg.shape)
    expected = math.prod(shape) * dtype.itemsize
    if len(msg.data) != expected:
        raise InvalidRequest(
            f'tensor {msg.name}: expected {expected} bytes for {msg.dtype} {shape}, '
            f'got {len(msg.data)}'
        )
    if not expected:
        return msg.name, np.zeros(shape, dtype)
    return msg.name, np.frombuffer(msg.data, dtype).reshape(shape)
