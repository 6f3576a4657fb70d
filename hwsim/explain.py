"""Why a kernel takes as long as it does: one row of a simulation as data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hwsim.chip import Chip
from hwsim.columns import ASCEND_STREAMS, GPU_STREAMS, MLU_STREAMS
from hwsim.hints import Evidence, Stream, hints
from hwsim.mlu_sram.chip import MluChip
from hwsim.outcome import error_line
from hwsim.result import SimResult
from hwsim.shares import shares_of
from hwsim.table import KernelTable

_STREAMS = {"ascend_cube": ASCEND_STREAMS, "mlu_sram": MLU_STREAMS, "gpu_sm": GPU_STREAMS}
# Times that other times add up to, and how the time of a bottleneck is called where it differs.
_SUMS = {
    "io": "ddr + cluster_ddr + io_issue + sram_spill",
    "compute": "matmul + vector + scalar",
    "core": "the busiest core from start to end",
}
_TIMES = {"latency": "path"}
_SHARES = ("occupancy", "utilisation", "share", "hit", "rate", "waste")  # last word of a counter


@dataclass(frozen=True)
class Capacity:
    """What a kernel needs of a limit and what the chip has, in ``unit``."""

    need: float
    have: float
    unit: str


@dataclass(frozen=True)
class Explanation:
    """What the simulator found for one kernel.

    ``time_us`` is the time by unit, pipe or stall (they overlap, so that they add up to more than
    ``latency_us``), largest first; ``bottleneck`` is the longest of those that are no sum of
    others.  ``level_bytes`` are the bytes by memory level, ``streams`` those of each data movement;
    ``shares`` occupancy (:mod:`hwsim.shares`), hit rates and utilisations between 0 and 1;
    ``amounts`` every other counter; ``capacities`` need and have by limit, of an MLU's SRAM also
    where it spills; ``advice`` what would help, most relevant first.  ``error`` is the failure in
    one line, or None.
    """

    chip: str
    latency_us: float
    error: str | None
    bottleneck: str
    time_us: Mapping[str, float]
    level_bytes: Mapping[str, float]
    streams: tuple[Stream, ...]
    shares: Mapping[str, float]
    amounts: Mapping[str, float]
    capacities: Mapping[str, Capacity]
    padding_waste: float
    advice: tuple[str, ...]

    def lines(self) -> list[str]:
        """The explanation as lines of text."""
        head = f"{self.latency_us:,.1f} us on {self.chip}, held by {self.bottleneck}{self._part()}"
        time = [_bar(name, us, self.latency_us) for name, us in self.time_us.items()]
        levels = [f"  {name:<22}{_si(size)}B" for name, size in self.level_bytes.items()]
        shares = [f"  {name:<22}{share:.1%}" for name, share in self.shares.items()]
        return [
            self.error or head,
            *_titled("time by unit (overlapping)", time),
            *_titled("bytes by level", levels),
            *_titled("data movements", [_stream_line(stream) for stream in self.streams]),
            *_titled("shares", shares),
            *_titled("capacities", [_capacity_line(*item) for item in self.capacities.items()]),
            *_titled("what would help", [f"  - {line}" for line in self.advice]),
        ]

    def _part(self) -> str:
        """The bottleneck's share of the latency, where its time is among those by unit."""
        us = self.time_us.get(_TIMES.get(self.bottleneck, self.bottleneck))
        return f", its longest part ({us / self.latency_us:.0%})" if us else ""


def explain(result: SimResult, table: KernelTable, row: int, chip: Chip) -> Explanation:
    """Explain row ``row`` of ``table`` from its counters and columns.

    Raises
    ------
    ValueError
        ``row`` is not a row of the table.
    """
    if not 0 <= row < len(table):
        raise ValueError(f"row {row}: the table has rows 0 to {len(table) - 1}")
    counters = {name: float(values[row]) for name, values in result.counters.items()}
    counters.setdefault("padding_waste", _padding_waste(table.row(row)))
    bottleneck = result.bottleneck_names[int(result.bottleneck[row])]
    streams = streams_of(table, row)
    latency = float(result.latency_us[row])
    error = error_line(result, row)
    time_us = {name[:-3]: us for name, us in counters.items() if name.endswith("_us") and us > 0}
    values = table.row(row)
    evidence = Evidence(
        table.backend, bottleneck, latency, values, counters, streams, error is not None
    )
    capacities = _capacities(result, row, counters, chip)
    fills = {name: c.need / c.have if c.have else 1.0 for name, c in capacities.items()}
    shares = {name: v for name, v in counters.items() if _is_share(name)}
    return Explanation(
        chip=chip.name,
        latency_us=latency,
        error=error,
        bottleneck=bottleneck,
        time_us=dict(sorted(time_us.items(), key=lambda item: -item[1])),
        level_bytes={n[:-6]: v for n, v in counters.items() if _is_traffic(n) and v > 0},
        streams=streams,
        shares=shares | shares_of(counters, values, fills, latency, chip),
        amounts={n: v for n, v in counters.items() if not n.endswith(("_us", "_bytes"))},
        capacities=capacities,
        padding_waste=counters["padding_waste"],
        advice=hints(evidence),
    )


def streams_of(table: KernelTable, row: int) -> tuple[Stream, ...]:
    """The data movements of one row that move anything, largest first."""
    values = table.row(row)
    blocks = values["blocks"] * values["work_share"]
    streams = [
        Stream(
            name=name,
            bytes=blocks * values[f"{name}_count"] * values[f"{name}_bytes"],
            run_bytes=float(values[f"{name}_run_bytes"]),
            unique_bytes=float(values.get(f"{name}_unique_bytes", 0.0)),
        )
        for name in _STREAMS[table.backend]
    ]
    return tuple(sorted((s for s in streams if s.bytes > 0), key=lambda s: -s.bytes))


def _capacities(
    result: SimResult, row: int, counters: Mapping[str, float], chip: Chip
) -> dict[str, Capacity]:
    """The limits that the kernel needs something of; an MLU's SRAM first, which may only spill."""
    sram = {}
    if isinstance(chip, MluChip):
        sram["sram_capacity"] = Capacity(counters["sram_need_bytes"], float(chip.sram_bytes), "B")
    found = {
        limit.name: Capacity(float(limit.need[row]), float(limit.have[row]), limit.unit)
        for limit in result.limits
    }
    return sram | {name: capacity for name, capacity in found.items() if capacity.need > 0}


def _padding_waste(row: Mapping[str, float]) -> float:
    """Share of the executed MACs that no output needs; 0 where the table does not say."""
    if not 0 < row["macs_useful"] < row["macs"]:
        return 0.0
    return 1 - row["macs_useful"] / row["macs"]


def _is_share(counter: str) -> bool:
    return counter.rsplit("_", 1)[-1] in _SHARES


def _is_traffic(counter: str) -> bool:
    return counter.endswith("_bytes") and not counter.endswith("_need_bytes")


def _titled(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *lines] if lines else []


def _bar(name: str, us: float, latency_us: float) -> str:
    share = us / latency_us if latency_us > 0 else 0.0
    bar = "#" * round(20 * min(share, 1))
    text = f"  {name:<22}{us:>14,.1f} us {min(share, 9.99):>6.0%}  {bar}"
    return f"{text:<71}= {_SUMS[name]}" if name in _SUMS else text


def _stream_line(stream: Stream) -> str:
    text = f"  {stream.title:<22}{_si(stream.bytes)}B"
    if stream.unique_bytes:
        text += f", each byte {stream.bytes / stream.unique_bytes:.1f} times"
    return text + (f", runs of {_si(stream.run_bytes)}B" if stream.run_bytes else "")


def _capacity_line(name: str, capacity: Capacity) -> str:
    share = capacity.need / capacity.have if capacity.have else float("inf")
    return f"  {name:<22}{capacity.need:,.0f} of {capacity.have:,.0f} {capacity.unit} ({share:.0%})"


def _si(value: float) -> str:
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g} "
