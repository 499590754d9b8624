"""Checks that contracts run on themselves; messages say expected, got and where."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpent_ros.errors import InvalidRequest


def array(
    where: str,
    value: Any,
    *,
    shape: tuple[int | None, ...],
    dtype: Any = np.float64,
    finite: bool = True,
) -> NDArray[Any]:
    """Return `value` as a read-only array of the wanted shape and type.

    Args:
      where: what the value is, for the message, e.g. 'pose.position'.
      value: anything numpy turns into an array.
      shape: wanted length of each axis; None accepts any length.
      dtype: wanted element type.  A float64 array is accepted for float32, not the other way round
        for integers: uint8 images must come as uint8.
      finite: refuse NaN and infinity.

    Raises:
      InvalidRequest: wrong shape, wrong type, or a value that is not finite.
    """
    wanted = np.dtype(dtype)
    given = np.asarray(value)
    if wanted.kind in 'iu' and given.dtype != wanted:
        raise InvalidRequest(f'{where}: expected {wanted}, got {given.dtype}')
    try:
        out = given.astype(wanted, copy=False)
    except (TypeError, ValueError):
        raise InvalidRequest(f'{where}: expected numbers, got {value!r}') from None
    fits = out.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, out.shape, strict=True)
    )
    if not fits:
        text = ', '.join('any' if n is None else str(n) for n in shape)
        raise InvalidRequest(f'{where}: expected shape ({text}), got {out.shape}')
    if finite and wanted.kind == 'f' and not np.isfinite(out).all():
        raise InvalidRequest(f'{where}: expected finite numbers, got {out.tolist()}')
    if out.flags.writeable:
        out = out.view()
        out.flags.writeable = False
    return out


def same_length(where: str, **columns: Any) -> None:
    """Refuse columns of different lengths.

    Raises:
      InvalidRequest: the columns differ in length.
    """
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        text = ', '.join(f'{name} {n}' for name, n in lengths.items())
        raise InvalidRequest(f'{where}: expected columns of one length, got {text}')
