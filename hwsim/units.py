"""The numbers of a chip file, one type a unit, each with the range that it is held to.

A range leaves room around every chip that there is, not for a slip of the keyboard or a wrong unit:
4,096 cores are 30 times the most of the chips that ship, 1 PB/s is 200 times the fastest memory of
them, 1 GiB 14 times the largest cache.  What a field may not be zero of begins with ``Some``.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

Cores = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]  # elements, threads, registers of one core
Kib = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
ReservedKib = Annotated[int, msgspec.Meta(ge=0, le=1 << 20)]
ShareOfKib = Annotated[float, msgspec.Meta(gt=0, le=1 << 20)]  # part of a memory
Mib = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
Gib = Annotated[float, msgspec.Meta(ge=0.1, le=1 << 12)]
Bytes = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
ReservedBytes = Annotated[int, msgspec.Meta(ge=0, le=1 << 20)]
Mhz = Annotated[float, msgspec.Meta(ge=10, le=10_000)]
GbPerS = Annotated[float, msgspec.Meta(ge=0.1, le=1_000_000)]
PerCycle = Annotated[float, msgspec.Meta(ge=0.1, le=1_000_000)]  # bytes, elements or operations
WholePerCycle = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Cycles = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
SomeCycles = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
Nanoseconds = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
Microseconds = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
SomeMicroseconds = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
SomeMilliseconds = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=100_000)]  # up to a day and a bit
SomeSeconds = Annotated[float, msgspec.Meta(gt=0, le=100_000)]
Instructions = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]
SomeInstructions = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
Exponent = Annotated[float, msgspec.Meta(ge=1, le=1_000)]  # of a p-norm
Times = Annotated[float, msgspec.Meta(ge=1, le=1_000)]  # as slow
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Efficiency = Annotated[float, msgspec.Meta(gt=0, le=1)]
