"""What the sketches of the accelerators have in common: decisions recorded as annotations."""

from __future__ import annotations

from typing import Any

from tvm.s_tir import Schedule

BUFFERS = "prunelab.buffers"  # block annotation: versions kept of the buffer that the block writes
BUFFER_COUNTS = (1, 2)  # single or double buffering
CORES = "prunelab.cores"  # loop annotation of blockIdx.x: cores that its iterations are dealt to
CORE_SHARES = (1.0, 0.75, 0.5)  # of the chip's cores


def sample_buffers(sch: Schedule) -> Any:
    """Decide how many versions of a staging buffer are kept."""
    return _sample(sch, BUFFER_COUNTS)


def annotate_buffers(sch: Schedule, block: Any, count: Any) -> None:
    """Record the decision on ``block``."""
    sch.annotate(block, BUFFERS, count)


def deal_blocks(sch: Schedule, loop: Any, cores: int) -> None:
    """Bind ``loop`` to blockIdx.x and decide how many of ``cores`` its iterations are dealt to.

    The program is launched once for each core that takes part; core ``c`` of ``n`` makes the
    iterations ``c, c + n, c + 2n, ..``, one after another without a new launch.  With fewer
    iterations than cores the rest of the cores stay idle.
    """
    counts = sorted({max(1, round(cores * share)) for share in CORE_SHARES})
    sch.annotate(loop, CORES, _sample(sch, tuple(counts)))
    sch.bind(loop, "blockIdx.x")


def _sample(sch: Schedule, values: tuple[int, ...]) -> Any:
    return sch.sample_categorical(list(values), [1.0 / len(values)] * len(values))
