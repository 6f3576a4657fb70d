"""The fields of a CPU's chip file: limits alone, no clock and no model.

A CPU is measured, so its file only says what rules and features look up.  Rates are per clock
cycle; where a time is wanted, a cycle counts as a nanosecond.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from hwsim.chip import Chip, Fact
from hwsim.cpu.discover import ASK, discovered
from hwsim.units import PerCycle, SomeCycles, SomeInstructions, SomeMicroseconds

# 0: ask the machine that the file is loaded on
AskedCores = Annotated[int, msgspec.Meta(ge=ASK, le=4096)]
AskedKib = Annotated[int, msgspec.Meta(ge=ASK, le=1 << 24)]  # all last caches of a host
Asked = Annotated[int, msgspec.Meta(ge=ASK, le=1 << 20)]


class CpuChip(Chip, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One CPU, all its cores.  Caches are data or unified ones.

    A limit of 0 in the file is read from the machine it is loaded on (:mod:`hwsim.cpu.discover`); a
    file for another board gives all of them.  ``mcpu`` is LLVM's name of the processor: ``host``
    takes that of the machine, an empty one compiles for any processor of its kind.
    """

    backend: Literal["cpu"]
    mcpu: str
    cores: AskedCores
    vector_bytes: Asked  # width of one vector register
    vector_registers: Asked  # that a program names
    fma_per_cycle: PerCycle  # vector multiply-accumulates that a core starts in a cycle
    fma_latency: SomeCycles  # cycles until its sum can be added to
    loads_per_cycle: PerCycle  # vector loads of a core
    stores_per_cycle: PerCycle  # vector stores of a core
    forward_cycles: SomeCycles  # from a store to a load of the same address
    reorder_ops: SomeInstructions  # instructions that a core looks ahead
    l1_kib: AskedKib  # of one core
    l1_code_kib: AskedKib  # of one core, instructions
    l2_kib: AskedKib  # of one core
    l3_kib: AskedKib  # of the whole chip
    line_bytes: Asked
    memory_bytes_per_cycle: PerCycle  # of the whole chip, from memory
    cache_bytes_per_cycle: PerCycle  # of the whole chip, from the last cache
    l2_bytes_per_cycle: PerCycle  # of one core, from its second cache
    start_us: SomeMicroseconds  # handing a parallel loop to the cores

    def lanes(self, bits: int) -> int:
        """Elements of ``bits`` that a vector register holds."""
        return max(1, self.vector_bytes * 8 // bits)


def complete(values: dict[str, Any], facts: dict[str, Fact]) -> None:
    """Fill in what a file leaves to the machine; the source becomes the machine's own."""
    for name, (value, source) in discovered().items():
        if values.get(name) == ASK:
            values[name] = value
            facts[name] = Fact(mark="V" if source.startswith("/") else "A", source=source)


CHIP = CpuChip
