"""A candidate as text, ``SKETCH:NAME=VALUE,NAME=VALUE``, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.decisions import Decision, IntColumn
from tuner.search import Pool
from tuner.sketch import Sketch


class WrittenError(ValueError):
    """A candidate's text that cannot be read; the message is one line for the user."""


def value_name(value: NDArray[np.int64]) -> str:
    """A decision's value as logs and command line have it: ``4x1x8``, or ``2``."""
    return "x".join(str(part) for part in value)


def named(sketch: Sketch, row: IntColumn) -> dict[str, str]:
    """Tiles as ``4x1x8``, categoricals as what they stand for (the row has the index of it)."""
    return {d.name: _value(d, row[d.start : d.stop]) for d in sketch.decisions}


def written(sketch: Sketch, row: IntColumn) -> str:
    """The candidate's text; :func:`read_candidate` gives it back."""
    values = ",".join(f"{name}={value}" for name, value in named(sketch, row).items())
    return f"{sketch.index}:{values}"


def read_candidate(sketches: tuple[Sketch, ...], text: str) -> tuple[int, IntColumn]:
    """The sketch's index and the decision vector ``(width,)`` of a candidate's text.

    Raises
    ------
    WrittenError
        No such sketch or decision, a decision that is missing or has no such value.
    """
    number, colon, rest = text.partition(":")
    if not colon or not number.isdecimal() or int(number) >= len(sketches):
        raise WrittenError(
            f"{text!r}: expected SKETCH:NAME=VALUE,... with a sketch below {len(sketches)}"
        )
    sketch = sketches[int(number)]
    given = _pairs(rest)
    known = {d.name: d for d in sketch.decisions}
    for name in given:
        if name not in known:
            expected = ", ".join(known)
            raise WrittenError(f"sketch {number} has no decision {name!r}, expected {expected}")
    row = np.empty(sketch.width, dtype=np.int64)
    for d in sketch.decisions:
        row[d.start : d.stop] = _read_value(d, given.get(d.name))
    return sketch.index, row


def alone(sketches: tuple[Sketch, ...], sketch: int, row: IntColumn) -> Pool:
    """A pool of one candidate."""
    rows = [np.empty((0, s.width), dtype=np.int64) for s in sketches]
    rows[sketch] = row[None]
    return Pool(tuple(rows))


def _pairs(text: str) -> dict[str, str]:
    out = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise WrittenError(f"{part!r}: expected NAME=VALUE")
        out[name] = value
    return out


def _value(d: Decision, value: IntColumn) -> str:
    return str(d.candidates[value[0]]) if d.kind == "categorical" else value_name(value)


def _read_value(d: Decision, wanted: str | None) -> IntColumn:
    options = d.options()
    names = [_value(d, option) for option in options]
    if wanted is None or wanted not in names:
        some = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        what = "is missing" if wanted is None else f"has no value {wanted!r}"
        raise WrittenError(f"decision {d.name} {what}, expected one of {some}")
    found: IntColumn = options[names.index(wanted)]
    return found
