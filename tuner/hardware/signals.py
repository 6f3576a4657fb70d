"""Ctrl-C goes to every process of a terminal, and must not end the ones that measure."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held() -> Iterator[None]:
    """Hold SIGINT back, here and in processes that are started meanwhile: a worker that it ended
    would look like a candidate that failed.  It arrives when the block is left.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
