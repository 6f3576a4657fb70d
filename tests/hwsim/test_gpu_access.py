"""Coalescing and bank conflicts against patterns known by heart and against brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hwsim.gpu_sm import known_patterns
from hwsim.gpu_sm.access import KNOWN, Access, patterns
from hwsim.gpu_sm.known_patterns import KnownPatterns
from hwsim.gpu_sm.warp import evaluate, pattern


def evaluated(*columns: NDArray[np.float64]) -> Access:
    width, run, step1, step2, threads = columns
    return patterns([(width, run, step1, step2)], threads)[0]


def access(
    width: int, run: int, step1: int, step2: int = 0, threads: int = 32
) -> tuple[float, float, float, float]:
    found = evaluated(*(np.array([float(x)]) for x in (width, run, step1, step2, threads)))
    return (
        float(found.sectors[0]),
        float(found.lines[0]),
        float(found.wavefronts[0]),
        float(found.global_wavefronts[0]),
    )


@pytest.mark.parametrize(
    ("width", "run", "step1", "step2", "expected"),
    [
        (4, 32, 4, 0, (4, 1, 1, 1)),  # neighbours side by side
        (4, 32, 8, 0, (8, 2, 2, 2)),  # every other word
        (4, 32, 128, 0, (32, 32, 32, 32)),  # a line each, one bank
        (4, 32, 132, 0, (32, 32, 1, 1)),  # padded rows: no conflict
        (4, 32, 0, 0, (1, 1, 1, 1)),  # broadcast
        (16, 32, 16, 0, (16, 4, 4, 4)),  # float4, side by side
        (16, 32, 0, 0, (1, 1, 2, 4)),  # float4 broadcast: half-warps, and quarters in L1
        (8, 32, 8, 0, (8, 2, 2, 2)),  # float2
        (4, 16, 4, 4096, (4, 2, 2, 2)),  # two rows in the same banks
        (2, 32, 2, 0, (2, 1, 1, 1)),  # halves share words
    ],
)
def test_known_patterns(
    width: int, run: int, step1: int, step2: int, expected: tuple[int, int, int, int]
) -> None:
    assert access(width, run, step1, step2) == expected


def test_wide_accesses_are_split_and_partial_warps_count_their_lanes() -> None:
    one = np.ones(1)
    assert evaluated(32 * one, 32 * one, 32 * one, 0 * one, 256 * one).split[0] == 2
    assert access(4, 8, 4, threads=8)[0] == 1


def test_runs_that_do_not_divide_a_warp_are_averaged_over_the_warps() -> None:
    """48 threads a row, rows 62 words apart: the second of three warps meets two rows."""
    assert access(4, 48, 4, 62 * 4, threads=96)[2] == pytest.approx(4 / 3)


def brute(width: int, run: int, step1: int, step2: int) -> tuple[int, int, int]:
    starts = [(t % run) * step1 + (t // run) * step2 for t in range(32)]
    touched = [b for s in starts for b in range(s, s + width)]
    words = {b // 4 for b in touched}
    banks = Counter(word % 32 for word in words)
    return len({b // 32 for b in touched}), len({b // 128 for b in touched}), max(banks.values())


@settings(max_examples=200, deadline=None)
@given(
    run=st.sampled_from([1, 2, 4, 8, 16, 32]),
    step1=st.integers(0, 300),
    step2=st.integers(0, 5000),
)
def test_words_agree_with_brute_force(run: int, step1: int, step2: int) -> None:
    step1, step2 = 4 * step1, 4 * step2
    sectors, lines, waves, global_waves = access(4, run, step1, step2)
    assert (sectors, lines, waves) == brute(4, run, step1, step2)
    assert global_waves == waves


@settings(max_examples=100, deadline=None)
@given(
    width=st.sampled_from([8, 16]),
    run=st.sampled_from([1, 2, 4, 8, 16, 32]),
    step1=st.integers(0, 40),
    step2=st.integers(0, 40),
)
def test_vectors_take_no_less_than_their_words_and_no_more_than_apart(
    width: int, run: int, step1: int, step2: int
) -> None:
    sectors, lines, waves, apart = access(width, run, width * step1, width * step2)
    exact = brute(width, run, width * step1, width * step2)
    assert (sectors, lines) == exact[:2]
    assert exact[2] <= waves <= apart <= 32 * width // 4


@settings(max_examples=300, deadline=None)
@given(
    width=st.sampled_from([1, 2, 4, 8, 12, 16]),
    run=st.sampled_from([0, 1, 2, 4, 8, 24, 32, 48, 64]),
    step1=st.sampled_from([0, 2, 4, 8, 16, 32, 66, 128, 4096, 2**41]),
    step2=st.sampled_from([0, 4, 64, 100, 512, 4096]),
    threads=st.sampled_from([1, 7, 16, 32, 64, 256]),
)
def test_one_pattern_alone_is_what_it_is_among_others(
    width: int, run: int, step1: int, step2: int, threads: int
) -> None:
    key = tuple(map(float, (width, run, step1, step2, threads)))
    KNOWN.forget()
    alone = pattern(*key)
    KNOWN.forget()
    assert alone == list(access(*key))


def test_patterns_are_found_again_while_the_table_grows_and_forgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a table of few slots most codes lie elsewhere than where they belong."""
    monkeypatch.setattr(known_patterns, "_LEAST_BITS", 2)
    monkeypatch.setattr(known_patterns, "_MOST_KNOWN", 40)
    few, rng = KnownPatterns(), np.random.default_rng(0)
    for _ in range(20):
        width, run = rng.choice([4.0, 8.0, 16.0], 30), rng.choice([1.0, 8.0, 24.0, 32.0], 30)
        step1, step2 = rng.choice([0.0, 4.0, 64.0], 30), np.full(1, 512.0)
        threads = rng.choice([32.0, 64.0], 30)
        slots = few.find([(width, run, step1, step2)], threads)[0]
        columns = np.broadcast_arrays(width, run, step1, step2, threads)
        assert np.array_equal(few.values[:4, slots], evaluate(np.stack(columns)))
