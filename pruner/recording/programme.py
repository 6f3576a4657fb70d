"""A programme: what rules and features compute, as a list of instructions over columns."""

from __future__ import annotations

import msgspec

VERSION = "1.0.0"


class Column(msgspec.Struct, frozen=True):
    """An input; ``kind`` is ``i`` (int64) or ``f`` (float64)."""

    name: str
    kind: str


class Constant(msgspec.Struct, frozen=True):
    """A number; ``kind`` is ``b``, ``i`` or ``f``; ``value`` as Python prints it (``inf`` too)."""

    kind: str
    value: str


class Instruction(msgspec.Struct, frozen=True):
    """One operation over a whole column; ``kind`` is that of its operands."""

    op: str
    kind: str
    args: tuple[int, ...]


class Check(msgspec.Struct, frozen=True):
    """Where a rule's finding is: the values of keep (``b``), need and have (``f``)."""

    rule: str
    hard: bool
    keep: int
    need: int
    have: int


class Measure(msgspec.Struct, frozen=True):
    """Where a feature (``f``) is, and how rows become candidates: add, maximum or minimum."""

    name: str
    value: int
    how: str


class Programme(msgspec.Struct, frozen=True):
    """Values are numbered: first the columns, then the constants, then the instructions' results,
    each of which depends on lower numbers only.

    ``checks`` are in the rules' order; ``features`` are empty, or all that the gate reads;
    ``draft`` is where the draft's microseconds are (``f``), if they are recorded.
    """

    backend: str
    several_rows: bool
    columns: tuple[Column, ...]
    constants: tuple[Constant, ...]
    instructions: tuple[Instruction, ...]
    checks: tuple[Check, ...]
    features: tuple[Measure, ...] = ()
    draft: int | None = None
    version: str = VERSION

    def to_json(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self).decode()
