"""Memory that one batch of columns frees, kept for the next."""

from __future__ import annotations

from functools import cache

import numpy as np

_KEPT_BYTES = 31 << 20  # the most that glibc learns from is 32 MiB


@cache
def keep_freed_memory() -> None:
    """Let the C library keep what it is given back instead of returning it to the system.

    Otherwise each page faults in anew for the next batch, which takes as long as the arithmetic.
    glibc keeps twice the largest piece that was ever freed (mallopt(3), M_MMAP_THRESHOLD), for the
    whole process; the piece freed here is never written to and so takes no memory.
    """
    np.empty(_KEPT_BYTES, dtype=np.uint8)
