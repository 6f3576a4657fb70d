"""What would help a kernel: its bottleneck's remedy, and what its own numbers point at.

Every hint reads only counters and columns of the row; it names the number that it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

_SHORT_RUN_BYTES = 512  # below this every chip's off-chip path loses to start-up or to lines
_REFETCHED = 2.0  # an operand that is fetched this many times over is worth reusing more
_WASTE, _IDLE, _CACHED = 0.05, 0.75, 0.5  # shares worth a word
_OFFCHIP = ("gm", "gdram", "global")


@dataclass(frozen=True)
class Stream:
    """One data movement of a kernel, over all its blocks."""

    name: str  # "a_gm_l1"
    bytes: float
    run_bytes: float
    unique_bytes: float

    @property
    def title(self) -> str:
        """``A gm -> l1``."""
        operand, source, destination = self.name.split("_")
        return f"{operand.upper()} {source} -> {destination}"

    @property
    def off_chip(self) -> bool:
        """One end of it is the device memory."""
        return any(f"_{scope}" in self.name for scope in _OFFCHIP)


@dataclass(frozen=True)
class Evidence:
    """One row of a simulation: what a hint may look at."""

    backend: str
    bottleneck: str
    latency_us: float
    row: Mapping[str, float]
    counters: Mapping[str, float]
    streams: tuple[Stream, ...]
    failed: bool


REMEDIES: Mapping[str, Mapping[str, str]] = {
    "ascend_cube": {
        "mac": "the cube is the limit: only less padding or a narrower data type helps",
        "mte1": "larger tiles in L0: a wider tile_m and tile_n reuse each loaded byte more often",
        "mte2": "larger tiles in L1, or transfers of 16 KB and more: the way from GM is the limit",
        "fix": "a longer reduction for each output tile: L0C is written out too often",
        "vec": "longer vector instructions, fewer passes over UB: the vector unit is the limit",
        "mte3": "fewer or larger stores from UB: the way to GM is the limit",
        "scalar": "loops inside vector instructions: scalar code is the limit",
        "hbm": "larger tiles, or a block order that shares L2: the HBM is the limit",
        "launch": "more work in a kernel: starting it costs more than running it",
    },
    "mlu_sram": {
        "ddr": "larger tiles, or one SRAM copy of what a cluster's cores share: DDR is the limit",
        "cluster_ddr": "more clusters: one cluster's own limit to DDR holds the kernel",
        "io_issue": "longer contiguous runs and fewer transfers: issuing them is the limit",
        "sram_spill": "a smaller SRAM tile: it lies in DDR, and every access to it goes there",
        "mv": "larger NRAM tiles: moves from SRAM are the limit",
        "matmul": "the matrix unit is the limit: only less padding or a narrower type helps",
        "vector": "longer vector passes, or fewer of them: the vector unit is the limit",
        "scalar": "larger steps, or tensor and vector instructions instead of scalar code",
        "launch": "more work in a kernel: starting it costs more than running it",
    },
    "gpu_sm": {
        "issue": "wider accesses and more work an instruction: the schedulers are the limit",
        "fma": "the FMA lanes are the limit: only tensor cores or less padding help",
        "int": "simpler indexing, or unrolling that folds it: integer operations are the limit",
        "special": "fewer exp, log and divisions: the special units are the limit",
        "tensor": "the tensor cores are the limit: only less padding or a narrower type helps",
        "lsu": "larger register tiles, conflict-free shared memory: load and store are the limit",
        "l2": "larger block tiles: the way from L2 is the limit",
        "dram": "larger block tiles, or a block order that shares L2: DRAM is the limit",
        "latency": "more warps or more independent work a thread: nothing hides the latency",
        "launch": "more work in a kernel: starting it costs more than running it",
    },
}


def hints(evidence: Evidence) -> tuple[str, ...]:
    """What would help, the bottleneck's remedy first; for a failure what has to shrink."""
    if evidence.failed:
        return ("need has to come down to what the limit has: a smaller tile or fewer copies",)
    found = [REMEDIES[evidence.backend].get(evidence.bottleneck, "")]
    found += [hint(evidence) or "" for hint in _HINTS]
    return tuple(text for text in found if text)


def _refetched(e: Evidence) -> str | None:
    def times(stream: Stream) -> float:
        return stream.bytes / stream.unique_bytes if stream.unique_bytes else 0.0

    worst = max((s for s in e.streams if s.off_chip), key=times, default=None)
    if worst is None or times(worst) < _REFETCHED:
        return None
    return (
        f"{worst.title} fetches every byte {times(worst):.1f} times: "
        "a larger tile along the other dimension cuts that"
    )


def _short_runs(e: Evidence) -> str | None:
    short = [s for s in e.streams if s.off_chip and 0 < s.run_bytes < _SHORT_RUN_BYTES]
    if not short:
        return None
    return (
        f"{short[0].title} goes in runs of {short[0].run_bytes:g} B: "
        f"a longer innermost extent ({_SHORT_RUN_BYTES} B or more) makes it cheaper"
    )


def _single_buffers(e: Evidence) -> str | None:
    scopes = [
        column[: -len("_buffers")]
        for column in e.row
        if column.endswith("_buffers") and e.row[column] < 2 and _is_filled(e, column)
    ]
    if not scopes or e.row["k_steps"] * e.row["out_tiles"] < 2:
        return None
    return f"a second copy of the buffers in {', '.join(scopes)}: loads and compute take turns now"


def _is_filled(e: Evidence, column: str) -> bool:
    scope = column[: -len("_buffers")]
    return any(stream.name.endswith(f"_{scope}") for stream in e.streams)


def _pipeline(e: Evidence) -> str | None:
    staged = any(stream.name.endswith("_global_shared") for stream in e.streams)
    if e.backend != "gpu_sm" or not staged or e.row["pipeline_stages"] > 1:
        return None
    return "software pipelining: loads into shared memory and compute take turns now"


def _padding(e: Evidence) -> str | None:
    waste = e.counters.get("padding_waste", 0.0)
    if waste <= _WASTE:
        return None
    return f"tiles that divide the shape: {waste:.0%} of the executed MACs are padding"


def _idle_cores(e: Evidence) -> str | None:
    for name in ("core_share", "core_utilisation"):
        if name in e.counters and e.counters[name] < _IDLE:
            return f"more or evenly divided blocks: {e.counters[name]:.0%} of the cores are busy"
    waves = e.counters.get("waves", 1.0)
    if waves < _IDLE:
        return f"more blocks: they fill {waves:.0%} of one wave"
    return None


def _occupancy(e: Evidence) -> str | None:
    share = e.counters.get("occupancy", 1.0)
    if e.bottleneck != "latency" or share >= _CACHED:
        return None
    return f"fewer registers or less shared memory a block: occupancy is {share:.0%}"


def _spills(e: Evidence) -> str | None:
    if e.counters.get("spill_bytes", 0.0) <= 0:
        return None
    return f"a smaller register tile: {e.counters['spill_bytes']:,.0f} B spill to local memory"


_HINTS: tuple[Callable[[Evidence], str | None], ...] = (
    _spills,
    _refetched,
    _short_runs,
    _single_buffers,
    _pipeline,
    _padding,
    _idle_cores,
    _occupancy,
)
