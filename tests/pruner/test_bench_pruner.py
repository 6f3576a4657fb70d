"""What pruning costs; run with ``--benchmark-enable``.  Rates are in ``extra_info``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hwsim.ascend_cube import tiles as ascend
from hwsim.backends import simulate
from hwsim.chips import load_chip
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.mlu_sram.kernels import matmul_table
from hwsim.mlu_sram.tiles import MatmulTiles
from hwsim.table import KernelTable
from pruner.features import features
from pruner.gate import Gate
from pruner.rulesets import rule_set
from pruner.task import Axis, Decision, Quantity, Task, Term
from pruner.task_stage import TaskStage
from pruner.trial import TrialStage

CHIPS: dict[str, Any] = {
    "ascend_cube": load_chip("ascend-910b1"),
    "mlu_sram": load_chip("mlu370-s4"),
    "gpu_sm": load_chip("a100-sxm-40gb"),
}
BATCH = 4096
Table = Callable[[int, np.random.Generator], KernelTable]


def _cube(n: int, rng: np.random.Generator) -> KernelTable:
    rows = []
    for a, b, c, d, e in 2 ** rng.integers(0, 5, (256, 5)):
        tiling = ascend.MatmulTiling(4, 6, 16 * a, 16 * b, 16 * c, step_ka=d, step_kb=e)
        rows.append(ascend.matmul_table(1024, 1536, 1024, "float16", tiling))
    return KernelTable.concat(rows).take_candidates(np.arange(n) % 256)


def _mlu(n: int, rng: np.random.Generator) -> KernelTable:
    tiles = [
        MatmulTiles(1024, 1024, 1024, int(4 * a), int(64 * b), int(64 * c))
        for a, b, c in 2 ** rng.integers(0, 6, (256, 3))
    ]
    return matmul_table(tiles, CHIPS["mlu_sram"]).take_candidates(np.arange(n) % 256)


def _gpu(n: int, rng: np.random.Generator) -> KernelTable:
    power = {"MWG": (5, 8), "NWG": (5, 8), "KWG": (4, 6), "MDIMC": (3, 5), "NDIMC": (3, 5)}
    power |= {"MDIMA": (3, 5), "NDIMB": (3, 5), "VWM": (0, 2), "VWN": (0, 2)}
    parameters = {name: 2 ** rng.integers(*span, n) for name, span in power.items()}
    parameters |= {name: rng.integers(0, 2, n) for name in ("SA", "SB")}
    return clblast_gemm(parameters, 1024, 1024, 1024)


TABLES: dict[str, Table] = {"ascend_cube": _cube, "mlu_sram": _mlu, "gpu_sm": _gpu}


@pytest.mark.parametrize("backend", CHIPS)
@pytest.mark.parametrize("n", [1, BATCH])
def test_bench_trial_stage(benchmark: Any, backend: str, n: int) -> None:
    chip, rng = CHIPS[backend], np.random.default_rng(0)
    stage = TrialStage(rule_set("default").trial, Gate(), chip)
    seen = TABLES[backend](256, rng)
    latency = seen.per_candidate(simulate(seen, chip).latency_us)
    stage.observe(seen, [str(i) for i in range(256)], latency)
    table, hashes = TABLES[backend](n, rng), [str(i) for i in range(n)]
    judged = benchmark(lambda: stage.judge(table, hashes, rescue=False))
    benchmark.extra_info["candidates"] = n
    benchmark.extra_info["kept"] = int(judged.keep.sum())
    assert len(judged) == n


@pytest.mark.parametrize("n", [1, BATCH])
def test_bench_gate_alone(benchmark: Any, n: int) -> None:
    rng = np.random.default_rng(0)
    gate, x = Gate(), rng.uniform(0, 1, (256, 38)).astype(np.float32)
    gate.observe(x, 100 * np.exp(x[:, 0]))
    new = rng.uniform(0, 1, (n, 38)).astype(np.float32)
    assert len(benchmark(lambda: gate.opine(new)).prune) == n


@pytest.mark.parametrize("backend", CHIPS)
def test_bench_features(benchmark: Any, backend: str) -> None:
    table = TABLES[backend](BATCH, np.random.default_rng(0))
    assert benchmark(lambda: features(table, CHIPS[backend])).shape == (BATCH, 38)


def test_bench_task_stage(benchmark: Any) -> None:
    """A GPU matmul of 4096^3: two tiles of 1,820 values, one of 91, a vector width, an unroll."""
    powers = [
        np.array([[2**e for e in row] for row in _compositions(12, parts)]) for parts in (5, 5, 3)
    ]
    roles: Any = ("core", "vthread", "thread", "serial", "serial")
    i, j = (
        Decision(name, "tile", values, roles, Axis(name, 4096, "float32"))
        for name, values in zip("ij", powers, strict=False)
    )
    k = Decision(
        "k", "tile", powers[2], ("serial",) * 3, Axis("k", 4096, "float32", reduction=True)
    )
    vector = Decision(
        "v", "vector_lanes", np.array([[1], [2], [3], [4]]), axis=Axis("v", 0, "float32")
    )
    inner = {d: tuple((d, part) for part in (1, 2, 3, 4)) for d in "ij"}
    deep = (("k", 1), ("k", 2))
    shared = Quantity("shared_bytes", "B", tuple(Term(4.0, f + deep) for f in inner.values()))
    threads = Quantity("threads", "threads", (Term(1.0, (("i", 2), ("j", 2))),))
    task = Task("gemm", "gpu_sm", (i, j, k, vector), (shared, threads), True, 32)
    stage = TaskStage(rule_set("default").task, CHIPS["gpu_sm"])
    result = benchmark(lambda: stage.run(task))
    benchmark.extra_info["nodes"] = [result.nodes_before, result.nodes_after]
    assert result.nodes_after < result.nodes_before


def _compositions(total: int, parts: int) -> list[list[int]]:
    if parts == 1:
        return [[total]]
    return [[n, *rest] for n in range(total + 1) for rest in _compositions(total - n, parts - 1)]
