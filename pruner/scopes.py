"""Memory scopes: which backend has them, how large they are, what a kernel puts into them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Chip
from hwsim.footprint import kept_bytes
from hwsim.mlu_sram.costs import sram_need_bytes
from hwsim.mlu_sram.limits import nram_need_bytes
from hwsim.rows import Rows
from hwsim.table import KernelTable
from pruner.once import once_a_chip

Scope = Literal["l1", "l0a", "l0b", "l0c", "ub", "nram", "wram", "sram", "shared"]


@dataclass(frozen=True)
class ScopeInfo:
    """``fields`` are the chip file's: the first one is the size, the rest is taken off it."""

    backend: str
    fields: tuple[str, ...]


SCOPES: dict[Scope, ScopeInfo] = {
    "l1": ScopeInfo("ascend_cube", ("l1_kib",)),
    "l0a": ScopeInfo("ascend_cube", ("l0a_kib",)),
    "l0b": ScopeInfo("ascend_cube", ("l0b_kib",)),
    "l0c": ScopeInfo("ascend_cube", ("l0c_kib",)),
    "ub": ScopeInfo("ascend_cube", ("ub_kib",)),
    "nram": ScopeInfo("mlu_sram", ("nram_kib", "nram_reserved_kib")),
    "wram": ScopeInfo("mlu_sram", ("wram_kib",)),
    "sram": ScopeInfo("mlu_sram", ("sram_kib", "sram_reserved_kib")),
    "shared": ScopeInfo("gpu_sm", ("shared_block_kib",)),
}


def scopes_of(backend: str) -> tuple[Scope, ...]:
    """The scopes of a backend, outermost first."""
    return tuple(s for s in get_args(Scope) if SCOPES[s].backend == backend)


def capacity(chip: Chip, scope: Scope) -> tuple[float, tuple[str, ...]]:
    """Bytes of the scope that a kernel can use, and the chip's fields that say so."""
    return _capacities(chip)[scope]


@once_a_chip
def _capacities(chip: Chip) -> dict[Scope, tuple[float, tuple[str, ...]]]:
    return {scope: _capacity(chip, SCOPES[scope].fields) for scope in scopes_of(chip.backend)}


def _capacity(chip: Chip, fields: tuple[str, ...]) -> tuple[float, tuple[str, ...]]:
    size, *reserved = fields
    kib = getattr(chip, size) - sum(getattr(chip, field) for field in reserved)
    return kib * 1024.0, fields


def footprint(table: KernelTable, scope: Scope) -> NDArray[np.float64]:
    """``(n,)`` bytes that a block keeps in the scope, every copy counted.

    Where the chip's own accounting is finer than copies times bytes (NRAM and SRAM keep copies of
    the staged inputs only), it is asked.
    """
    if scope == "nram":
        return nram_need_bytes(Rows(table))
    if scope == "sram":
        return sram_need_bytes(Rows(table))
    if scope == "shared":  # the column counts the pipeline's versions already
        return np.asarray(table["shared_bytes"], dtype=np.float64)
    return kept_bytes(Rows(table), scope)
