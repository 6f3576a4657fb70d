"""Ordered factorisations: the values that ``sample_perfect_tile`` may take, as a table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

IntMatrix = NDArray[np.int64]


@lru_cache(maxsize=1024)
def prime_powers(extent: int) -> tuple[tuple[int, int], ...]:
    """``((prime, exponent), ...)`` of a positive integer, ascending primes."""
    found: list[tuple[int, int]] = []
    prime = 2
    while prime * prime <= extent:
        exponent = 0
        while extent % prime == 0:
            extent //= prime
            exponent += 1
        if exponent:
            found.append((prime, exponent))
        prime += 1
    if extent > 1:
        found.append((extent, 1))
    return tuple(found)


@lru_cache(maxsize=1024)
def divisors(extent: int) -> NDArray[np.int64]:
    """All divisors of ``extent``, ascending, shape ``(m,)``."""
    out = np.ones(1, dtype=np.int64)
    for prime, exponent in prime_powers(extent):
        out = np.outer(out, prime ** np.arange(exponent + 1, dtype=np.int64)).ravel()
    out.sort()
    out.flags.writeable = False
    return out


def _compositions(total: int, parts: int) -> IntMatrix:
    """All ways to write ``total`` as ordered non-negative summands, shape ``(m, parts)``."""
    if parts == 1:
        return np.full((1, 1), total, dtype=np.int64)
    blocks = []
    for last in range(total + 1):
        head = _compositions(total - last, parts - 1)
        blocks.append(np.column_stack([head, np.full(len(head), last, dtype=np.int64)]))
    return np.concatenate(blocks)


@lru_cache(maxsize=256)
def factorisations(extent: int, parts: int, max_innermost: int) -> IntMatrix:
    """All ordered factorisations of ``extent`` whose last factor is at most ``max_innermost``.

    Shape ``(m, parts)``, int64, read-only; sorted by the last factor, then the last but one, and so
    on.  Exponents of different primes are independent, so the table is their outer product.
    """
    table = np.ones((1, parts), dtype=np.int64)
    for prime, exponent in prime_powers(extent):
        powers = prime ** _compositions(exponent, parts)
        table = (table[:, None, :] * powers[None, :, :]).reshape(-1, parts)
        table = table[table[:, -1] <= max_innermost]
    table = np.ascontiguousarray(table[np.lexsort(table.T)])
    table.flags.writeable = False
    return table


def move_factor(rows: IntMatrix, rng: np.random.Generator) -> IntMatrix:
    """Each tile ``(n, parts)`` with one prime factor of one part moved into another part, as TVM's
    MutateTileSize does.
    """
    n, width = rows.shape
    at = np.arange(n)
    giver = np.argmax(rng.random((n, width)) * (rows > 1), axis=1)
    taker = (giver + rng.integers(1, width, size=n)) % width
    out = rows.copy()
    prime = _random_prime(out[at, giver], rng)
    out[at, giver] //= prime
    out[at, taker] *= prime
    return out


def _random_prime(values: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A prime factor of each value, each distinct one with the same chance (1 for 1)."""
    unique, inverse = np.unique(values, return_inverse=True)
    primes = [[p for p, _ in prime_powers(int(v))] or [1] for v in unique]
    table = np.ones((len(unique), max(len(p) for p in primes)), dtype=np.int64)
    for i, p in enumerate(primes):
        table[i, : len(p)] = p
    counts = np.array([len(p) for p in primes])[inverse]
    draw = (rng.random(len(values)) * counts).astype(np.int64)
    out: NDArray[np.int64] = table[inverse, draw]
    return out
