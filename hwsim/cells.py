"""Numbers in the cells of published tables."""

from __future__ import annotations

from collections.abc import Mapping

_HUGE = 2.0**31  # no size of a kernel; products of several would wrap


def whole(row: Mapping[str, str], name: str, default: int | None = None) -> int:
    """Cell ``name`` without its fraction; ``default``, where there is one, for an empty cell.

    Raises
    ------
    ValueError
        The cell has no number between 0 and 2^31.
    """
    text = row.get(name, "")
    if not text and default is not None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < _HUGE:
        raise ValueError(f"{name} {text!r}: expected a number from 0 to below 2^31")
    return int(value)
