"""Do measurements contradict the gate?  What it promised against what came out."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from pruner.calibration import Reliability, reliability

WINDOW = 64  # outcomes that are looked back on
LEAST = 8  # outcomes before anything is concluded
ALARM = 3.0  # standard deviations by which "worse" was promised too often
ALL_CLEAR = 1.0


class Drift:
    """Watches for too many promises of "worthless" that turned out better.

    With calibrated probabilities the number of worse candidates among those measured is a sum of
    independent coin flips; the alarm is its standardised shortfall.  The window forgets everything
    when the alarm changes, so that a gate that was retrained is judged by what it says since.
    """

    def __init__(self) -> None:
        self.detected = False
        self._probability: deque[float] = deque(maxlen=WINDOW)
        self._worse: deque[bool] = deque(maxlen=WINDOW)
        self._all: list[tuple[float, bool]] = []

    def compare(self, promised: NDArray[np.float64], worse: NDArray[np.bool_]) -> None:
        """Enter outcomes; ``promised`` is ``nan`` where nothing was promised."""
        for i in np.flatnonzero(np.isfinite(promised)):
            self._probability.append(float(promised[i]))
            self._worse.append(bool(worse[i]))
            self._all.append((float(promised[i]), bool(worse[i])))
        if len(self._probability) < LEAST:
            return
        shortfall = self._shortfall()
        if not self.detected and shortfall > ALARM:
            self._turn(True)
        elif self.detected and shortfall < ALL_CLEAR:
            self._turn(False)

    def clear(self) -> None:
        """No alarm, and nothing to look back on."""
        self._turn(False)

    def reliability(self) -> Reliability:
        """Calibration over every outcome of the run."""
        p, w = (
            (np.array(column) for column in zip(*self._all, strict=True))
            if self._all
            else (
                np.zeros(0),
                np.zeros(0, bool),
            )
        )
        return reliability(p.astype(np.float64), w.astype(bool))

    def _shortfall(self) -> float:
        p = np.clip(np.array(self._probability), 0.02, 0.98)
        missing = p.sum() - np.sum(self._worse)
        return float(missing / np.sqrt((p * (1 - p)).sum()))

    def _turn(self, detected: bool) -> None:
        self.detected = detected
        self._probability.clear()
        self._worse.clear()
