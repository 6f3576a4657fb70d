"""Ctrl-C as a question that is asked between two rounds."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any


class Interrupt:
    """While it is entered, the first Ctrl-C only makes it true; a second one interrupts at once.

    ``at_once`` is called first by the second one.
    """

    def __init__(self, at_once: Callable[[], None] = lambda: None) -> None:
        self._at_once = at_once
        self._hit = False

    def __call__(self) -> bool:
        """Whether Ctrl-C was hit."""
        return self._hit

    def _handle(self, number: int, frame: Any) -> None:
        if self._hit:
            self._at_once()
            raise KeyboardInterrupt
        self._hit = True

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)
