"""What the operating system says about the processor that this program runs on.

Linux tells cores, caches and instruction sets through files; where it does not (a container
without /sys, another system) a conservative default stands in, marked as assumed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

ASK = 0  # a chip file's value for what the machine is asked
CPU = Path("/sys/devices/system/cpu/cpu0")
CPUINFO = Path("/proc/cpuinfo")

# Where the machine does not say: what every desktop or server processor of the last decade has.
DEFAULTS = {
    "cores": 1,
    "vector_bytes": 16,
    "vector_registers": 16,
    "l1_kib": 32,
    "l1_code_kib": 32,
    "l2_kib": 256,
    "l3_kib": 2048,
    "line_bytes": 64,
}

Found = tuple[int, str]  # a value and where it comes from


@cache
def discovered() -> Mapping[str, Found]:
    """Every limit that a machine can be asked for, with its source."""
    asked: dict[str, Callable[[], Found | None]] = {
        "cores": _cores,
        "vector_bytes": lambda: _vector(0),
        "vector_registers": lambda: _vector(1),
        "l1_kib": lambda: _cache(1, "Data"),
        "l1_code_kib": lambda: _cache(1, "Instruction"),
        "l2_kib": lambda: _cache(2, "Unified"),
        "l3_kib": lambda: _cache(3, "Unified"),
        "line_bytes": lambda: _line(),
    }
    return {name: ask() or _assumed(name) for name, ask in asked.items()}


def _assumed(name: str) -> Found:
    return DEFAULTS[name], "the machine does not say; a conservative default"


def _cores() -> Found | None:
    if not hasattr(os, "sched_getaffinity"):
        return None
    return len(os.sched_getaffinity(0)), "/proc/self/status, processors this process may run on"


# Flag in /proc/cpuinfo -> bytes of a vector register, registers that a program names.
_VECTORS = (
    ("avx512f", (64, 32)),
    ("avx", (32, 16)),
    ("sse2", (16, 16)),
    ("asimd", (16, 32)),
)


def _vector(part: int) -> Found | None:
    flags = set(re.split(r"\s+", _read(CPUINFO)))
    for flag, size in _VECTORS:
        if flag in flags:
            return size[part], f"{CPUINFO}, flag {flag}"
    return None


def _cache(level: int, kind: str) -> Found | None:
    for index in sorted((CPU / "cache").glob("index*")):
        said = _read(index / "level").strip(), _read(index / "type").strip()
        size = re.fullmatch(r"(\d+)([KM])", _read(index / "size").strip())
        if said == (str(level), kind) and size:
            kib = int(size[1]) * (1024 if size[2] == "M" else 1)
            return kib, str(index / "size")
    return None


def _line() -> Found | None:
    file = CPU / "cache" / "index0" / "coherency_line_size"
    text = _read(file).strip()
    return (int(text), str(file)) if text.isdecimal() and int(text) else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
