"""What the sketches of the accelerators have in common."""

from __future__ import annotations

from typing import Any

from tvm.s_tir import Schedule

BUFFERS = "prunelab.buffers"  # block annotation: versions kept of the buffer that the block writes
BUFFER_COUNTS = (1, 2)  # single or double buffering


def sample_buffers(sch: Schedule) -> Any:
    """Decide how many versions of a staging buffer are kept."""
    share = 1.0 / len(BUFFER_COUNTS)
    return sch.sample_categorical(list(BUFFER_COUNTS), [share] * len(BUFFER_COUNTS))


def annotate_buffers(sch: Schedule, block: Any, count: Any) -> None:
    """Record the decision on ``block``."""
    sch.annotate(block, BUFFERS, count)
