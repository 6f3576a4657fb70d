"""Measurement noise: what K repeats of one kernel would have read on a real board.

Each number is a function of (seed, candidate hash, repeat) alone, so a candidate measured twice, in
any order and any batch, reads the same.  The generator is SplitMix64 (Steele, Lea and Flood,
OOPSLA 2014) used as a counter: a numpy ``Generator`` for each candidate would cost 20 us a piece.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hwsim.chip import Noise
from hwsim.result import FloatColumn

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


def measure(
    latency_us: FloatColumn,
    keys: Sequence[str] | NDArray[np.uint64],
    repeats: int,
    seed: int,
    noise: Noise,
) -> NDArray[np.float64]:
    """``(n, repeats)`` readings of ``latency_us`` ``(n,)``, in us; ``inf`` stays ``inf``.

    ``keys`` are candidate hashes.  A reading is log-normal around the true latency with relative
    spread ``noise.sigma``; with ``outlier_probability`` it is ``outlier_factor`` times longer.
    """
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}, expected at least 1")
    stream = _uniforms(_as_uint64(keys), 3 * repeats, seed)
    u1, u2, u3 = stream[:, 0::3], stream[:, 1::3], stream[:, 2::3]
    normal = np.sqrt(-2.0 * np.log(u1)) * np.cos(2.0 * np.pi * u2)  # Box-Muller
    slow = np.where(u3 < noise.outlier_probability, noise.outlier_factor, 1.0)
    return np.asarray(latency_us)[:, None] * np.exp(noise.sigma * normal) * slow


def _as_uint64(keys: Sequence[str] | NDArray[np.uint64]) -> NDArray[np.uint64]:
    if isinstance(keys, np.ndarray):
        return keys.astype(np.uint64)
    digests = (hashlib.blake2b(key.encode(), digest_size=8).digest() for key in keys)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _uniforms(keys: NDArray[np.uint64], width: int, seed: int) -> NDArray[np.float64]:
    """``(n, width)`` numbers in (0, 1)."""
    with np.errstate(over="ignore"):  # the arithmetic is modulo 2**64
        start = _mix(keys ^ _mix(np.array(seed % 2**64, dtype=np.uint64)))
        counter = np.arange(1, width + 1, dtype=np.uint64) * _GOLDEN
        bits = _mix(start[:, None] + counter)
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * _MIX1
        z = (z ^ (z >> np.uint64(27))) * _MIX2
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)
