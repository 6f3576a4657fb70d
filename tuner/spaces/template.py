"""Template spaces, as AutoTVM's users write them: a fixed schedule with a few knobs.

The schedule is that of the chip's first generated sketch (its memories, fusion and matrix unit);
where that one samples every factor of every tile, the template has one knob an axis.  Knobs:

- ``tile``: elements of an axis that a block makes, one of ``TILES`` that divide the axis (padded to
  the matrix unit); the largest divisor below where none does, since a template's splits are exact.
  The last two parallel axes and the last reduction are tiled, the others go step by step.
- ``unroll``: TVM's auto-unroll limit, one of ``UNROLLS``.
- ``vector``: lanes of a cooperative load, one of ``VECTORS``.

Threads along an axis are no knob: ``THREADS`` of a GPU's block, ``WARPS`` with tensor cores, the
cores of an MLU's cluster, as far as they divide every tile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import gcd, prod
from typing import Any

from tvm import tirx
from tvm.s_tir import Schedule, Trace
from tvm.s_tir.schedule import Instruction, InstructionKind
from tvm_ffi import structural_map

from hwsim.chip import Chip
from tuner.factors import divisors

TILES = (32, 64, 128, 256)
UNROLLS = (2, 4, 8, 16)
VECTORS = (4, 8, 16)
THREADS, WARPS, CLUSTER = 16, 2, 4
# Which part of a tile is bound to threads, by backend and number of parts.
_THREAD_PART = {("gpu_sm", 5): 2, ("mlu_sram", 4): 3}
_INTRINSIC = re.compile(r"_(\d+)x(\d+)x(\d+)_")  # m, n, k in the name of a tensor intrinsic
_FED = {"meta_schedule.unroll_explicit": UNROLLS, "meta_schedule.cooperative_fetch": VECTORS}


def template(fresh: Schedule, sketch: Schedule, chip: Chip) -> Schedule | None:
    """The template of the program in ``fresh`` after ``sketch``, a generated one; None where the
    sketch tiles no product.
    """
    instructions = list(sketch.trace.insts)
    tiles = [i for i in instructions if i.kind.name == "SamplePerfectTile"]
    parts = [int(i.attrs[0]) for i in tiles]
    if len(tiles) < 3 or parts[-1] != 3:
        return None
    knobs = _Knobs(chip, _unit(instructions), sketch.trace.decisions, _tiled(parts, chip))
    out: list[Any] = []
    for inst in instructions:
        out += knobs.rewritten(inst, instructions)
    first = {inst: 0 for inst in out if inst.kind.name == "SampleCategorical"}
    Trace(out, first).apply_to_schedule(fresh, remove_postproc=True)
    return fresh


def _unit(instructions: Sequence[Any]) -> tuple[int, int, int] | None:
    """Elements along m, n and k that one step covers; None without a matrix unit."""
    for inst in instructions:
        named = [*inst.inputs, *inst.attrs] if inst.kind.name in ("Annotate", "Tensorize") else []
        for text in named:
            found = _INTRINSIC.search(text) if isinstance(text, str) else None
            if found:
                return int(found[1]), int(found[2]), int(found[3])
    return None


def _tiled(parts: Sequence[int], chip: Chip) -> dict[int, int]:
    """Number of a perfect tile -> its position in (m, n, k); other axes go step by step."""
    parallel = [i for i, n in enumerate(parts) if n == 5] if chip.backend == "gpu_sm" else [0, 1]
    return {parallel[-2]: 0, parallel[-1]: 1, len(parts) - 1: 2}


class _Knobs:
    """Replaces the sampling instructions of a trace by those of the template's knobs."""

    def __init__(
        self, chip: Chip, unit: tuple[int, int, int] | None, decisions: Any, tiled: dict[int, int]
    ) -> None:
        self._chip, self._unit, self._decisions, self._tiled = chip, unit, decisions, tiled
        self._number = 0
        self._fixed: dict[Any, Any] = {}  # factors that are no knob -> None or a constant

    def rewritten(self, inst: Any, instructions: Sequence[Any]) -> list[Any]:
        """What stands in the template for one instruction of the sketch."""
        if inst.kind.name == "SamplePerfectTile":
            return self._tile(inst)
        if inst.kind.name == "SampleCategorical":
            return [self._categorical(inst, instructions)]
        if inst.kind.name in ("Split", "TransformLayout"):
            inputs = [self._without_fixed(x) for x in inst.inputs]
            return [Instruction(inst.kind, inputs, inst.attrs, inst.outputs)]
        return [inst]

    def _without_fixed(self, operand: Any) -> Any:
        """A factor that is no knob as what it is fixed to, also where an index map names it."""
        if not isinstance(operand, tirx.IndexMap):
            return self._fixed.get(operand, operand)
        return structural_map(operand, (tirx.Var, lambda var: self._fixed.get(var, var)))

    def _tile(self, inst: Any) -> list[Any]:
        """One categorical for the innermost serial factor; the outermost is left to the split."""
        extent = prod(int(f) for f in self._decisions[inst])
        position = self._tiled.get(self._number)
        self._number += 1
        threads, steps = self._steps(extent, position, len(inst.outputs))
        part = _THREAD_PART.get((self._chip.backend, len(inst.outputs)))
        knob = len(inst.outputs) - (2 if part == len(inst.outputs) - 1 else 1)
        for i, factor in enumerate(inst.outputs):
            self._fixed[factor] = None if i == 0 else _constant(threads if i == part else 1)
        del self._fixed[inst.outputs[knob]]
        return [_sample(inst.outputs[knob], steps)]

    def _steps(self, extent: int, position: int | None, parts: int) -> tuple[int, list[int]]:
        """Threads along the axis, and steps of each thread for every tile that divides it."""
        if position is None:
            return 1, [1]
        unit = self._unit[position] if self._unit else 1
        fit = [t // unit for t in TILES if t % unit == 0 and extent % (t // unit) == 0]
        below = [d for d in divisors(extent).tolist() if d * unit < TILES[0]]
        tiles = [t for t in fit if t] or [max(below, default=1)]
        threads = gcd(*tiles, self._threads(parts))
        return threads, [t // threads for t in tiles]

    def _threads(self, parts: int) -> int:
        if (self._chip.backend, parts) not in _THREAD_PART:
            return 1
        if self._chip.backend == "mlu_sram":
            return CLUSTER
        return WARPS if self._unit else THREADS

    @staticmethod
    def _categorical(inst: Any, instructions: Sequence[Any]) -> Any:
        """The knob's values where there is a knob, else what the sketch samples from."""
        (chosen,) = inst.outputs
        for user in instructions:
            if user.kind.name == "Annotate" and chosen.same_as(user.inputs[1]):
                values = _FED.get(str(user.attrs[0]))
                return _sample(chosen, values) if values else inst
        return inst


def _sample(chosen: Any, values: Sequence[int]) -> Any:
    kind = InstructionKind.get("SampleCategorical")
    share = tirx.FloatImm("float32", 1.0 / len(values))
    return Instruction(kind, [], [list(values), [share] * len(values)], [chosen])


def _constant(value: int) -> Any:
    return tirx.IntImm("int32", value)
