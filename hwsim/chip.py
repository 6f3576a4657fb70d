"""Chips are data: one TOML file a chip, every number with its source and its mark.

A number in a chip file is an inline table ``{ value = 192, mark = "V", source = "..." }``.  Loading
splits it: the typed chip holds the plain values, ``chip.provenance`` the rest by field path.

Marks: ``V`` read in the named public source; ``S`` a secondary source quotes the primary; ``D``
derived; ``R`` recalled, to be checked; ``C`` calibrated (``source`` says what it was fitted to);
``A`` assumed, with no source (``source`` says why that value).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from hwsim.units import Cores, Count, Seconds, Share, SomeSeconds, Times

Mark = Literal["V", "S", "D", "R", "C", "A"]
Dtype = Literal["float32", "float16", "bfloat16", "int8", "int32"]


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a number of a chip file comes from."""

    mark: Mark
    source: Annotated[str, msgspec.Meta(min_length=3)]


class RuleTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What pruning rules look up in a chip.

    ``vector_lanes`` and ``vector_lanes_as_described`` give the allowed vector lengths in elements
    by dtype; ``split_multiple`` the number that matmul split factors must be multiples of by dtype
    (1: any); ``min_thread_reduction`` the reduction length up to which a thread-level split of the
    reduction is pointless; ``min_core_share`` the share of the chip's cores a kernel should use.
    """

    vector_lanes: dict[Dtype, list[Count]]
    vector_lanes_as_described: dict[Dtype, list[Count]]
    split_multiple: dict[Dtype, Count]
    min_thread_reduction: Count
    min_core_share: Share


class BenchCost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one trial costs on a real bench of this chip (goes onto the virtual clock)."""

    compile_s: SomeSeconds  # compiling one kernel
    compile_s_per_unroll: Seconds  # more per explicitly unrolled statement copy
    upload_s: Seconds  # sending the artifact to the board and loading it
    run_overhead_s: Seconds  # session, allocation and synchronisation of one measurement
    min_run_s: Seconds  # the timer repeats the kernel until this long has passed
    compile_timeout_s: SomeSeconds = 30.0  # one that takes longer is killed; TVM's default
    timeout_s: SomeSeconds  # a measurement that takes longer is given up
    boards: Cores  # boards of the modelled farm
    compile_workers: Cores  # compile processes of the modelled farm


class Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Measurement noise: log-normal, ``sigma`` relative, plus a rare slow outlier."""

    sigma: Share
    outlier_probability: Share
    outlier_factor: Times


class Chip(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every chip has; a backend adds its own fields by subclassing."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    version: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+\.\d+$")]
    backend: str
    vendor: str
    rules: RuleTables
    bench: BenchCost
    noise: Noise
    provenance: dict[str, Fact] = {}


class ChipError(ValueError):
    """A chip that cannot be found or loaded; the message is one line for the user."""
