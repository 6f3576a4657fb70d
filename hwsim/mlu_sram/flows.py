"""Traffic between GDRAM and a core or cluster, as both models of the MLU see it.

A transfer is a latency and a number of contiguous runs.  Each run occupies the issuing engine for
at least ``*_run_cycles`` and for its bytes at the core's own rate, and the memory bus for the
64-byte lines it touches; the lines that a write covers only in part are read first and count twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hwsim.mlu_sram.chip import MluChip
from hwsim.result import FloatColumn
from hwsim.rows import Rows

_GB_US = 1e3  # 1 GB/s in bytes a microsecond


@dataclass(frozen=True)
class Flow:
    """All transfers of one kind that one block makes; every column is ``(n,)``.

    ``latency_us`` passes before data moves, ``issue_us`` is what the issuing engine needs with the
    bus to itself, ``bus_us`` what the chip's whole bus needs for ``bus_bytes``.
    """

    count: FloatColumn
    latency_us: FloatColumn
    issue_us: FloatColumn
    bus_us: FloatColumn
    bus_bytes: FloatColumn

    def __add__(self, other: Flow) -> Flow:
        """Both, one after the other."""
        return Flow(
            self.count + other.count,
            self.latency_us + other.latency_us,
            self.issue_us + other.issue_us,
            self.bus_us + other.bus_us,
            self.bus_bytes + other.bus_bytes,
        )

    def where(self, mask: np.ndarray) -> Flow:
        """The flow on the rows of ``mask``, nothing on the others."""
        return Flow(
            np.where(mask, self.count, 0.0),
            np.where(mask, self.latency_us, 0.0),
            np.where(mask, self.issue_us, 0.0),
            np.where(mask, self.bus_us, 0.0),
            np.where(mask, self.bus_bytes, 0.0),
        )

    def us(self, bus_share: FloatColumn) -> FloatColumn:
        """Time of the flow where the bus serves ``bus_share`` blocks like this one at a time."""
        return self.latency_us + np.maximum(self.issue_us, self.bus_us * bus_share)


def gdram_flow(
    rows: Rows,
    stream: str,
    chip: MluChip,
    *,
    write: bool = False,
    shared: FloatColumn | None = None,
) -> Flow:
    """Traffic of a GDRAM stream.

    ``shared`` (cores of a cluster) marks a copy into SRAM: the cluster's memory core issues the
    runs of all its cores, and no single core's rate limits it.
    """
    count, size = rows[f"{stream}_count"], rows[f"{stream}_bytes"]
    run = rows[f"{stream}_run_bytes"]
    align = rows[f"{stream}_align_bytes"]
    run = np.where((run <= 0) | (run > size), size, run)
    return _flow(chip, count, size, run, align, write, shared)


def spilled_flow(rows: Rows, stream: str, chip: MluChip, *, write: bool) -> Flow:
    """Traffic of a stream whose SRAM buffer lies in DDR: whole tiles, aligned, core by core."""
    count, size = rows[f"{stream}_count"], rows[f"{stream}_bytes"]
    line = np.array([float(chip.ddr_line_bytes)])
    return _flow(chip, count, size, size, line, write, None)


def _flow(
    chip: MluChip,
    count: FloatColumn,
    size: FloatColumn,
    run: FloatColumn,
    align: FloatColumn,
    write: bool,
    shared: FloatColumn | None,
) -> Flow:
    runs = count * np.ceil(size / np.maximum(run, 1e-9))
    run_bus = bus_bytes_of_run(run, align, chip.ddr_line_bytes, write)
    cycles = chip.write_run_cycles if write else chip.read_run_cycles
    run_us = np.array([cycles / chip.clock_mhz])
    if shared is None:
        run_us = np.maximum(run_us, run_bus / (chip.core_ddr_gbps * _GB_US))
    else:
        run_us = run_us * shared
    efficiency = chip.ddr_write_efficiency if write else chip.ddr_read_efficiency
    bus_bytes = runs * run_bus
    return Flow(
        count=count,
        latency_us=count * chip.ddr_latency_ns * 1e-3,
        issue_us=runs * run_us,
        bus_us=bus_bytes / (chip.ddr_gbps * efficiency * _GB_US),
        bus_bytes=bus_bytes,
    )


def bus_bytes_of_run(
    run: FloatColumn, align: FloatColumn, line_bytes: int, write: bool
) -> FloatColumn:
    """Mean bytes on the bus of a run of ``run`` bytes that starts at a multiple of ``align``.

    Over the possible offsets in a line, a run touches ``(r + line - align) / line`` lines and
    covers ``(r - line + align) / line`` of them fully; a partly written line costs a read as well.
    """
    step = np.clip(align, 1.0, line_bytes)
    touched = (np.ceil(run / step) * step + line_bytes - step) / line_bytes
    touched = np.where(run > 0, touched, 0.0)
    if not write:
        return touched * line_bytes
    whole = np.maximum((np.floor(run / step) * step - line_bytes + step) / line_bytes, 0.0)
    return (2.0 * touched - np.where(run > 0, whole, 0.0)) * line_bytes
