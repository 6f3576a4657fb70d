"""The task stage: sound against exhaustive enumeration, literal where it says so, never empty."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hwsim.chip import Chip
from hwsim.chips import load_chip
from pruner.registry import builtin
from pruner.rule import Finding
from pruner.rulesets import rule_set
from pruner.task import Axis, Decision, Quantity, Space, Task, Term
from pruner.task_result import TaskResult
from pruner.task_stage import TaskStage

GPU: Any = load_chip("a100-sxm-40gb")
ASCEND: Any = load_chip("ascend-910b1")


def tile(name: str, extent: int, parts: int, roles: tuple[Any, ...], **axis: Any) -> Decision:
    rows = [
        row
        for row in itertools.product(
            *[[d for d in range(1, extent + 1) if extent % d == 0]] * parts
        )
        if np.prod(row) == extent
    ]
    described = Axis(name, extent, axis.pop("dtype", "float32"), **axis)
    return Decision(f"{name}.tile", "tile", np.array(rows), roles, described)


def choice(name: str, meaning: Any, values: list[int], axis: Axis | None = None) -> Decision:
    return Decision(name, meaning, np.array(values)[:, None], ("thread",), axis)


def gemm(extent: int, scale: float, floor: int = 0) -> Task:
    """Two tiled axes over core, thread and serial; shared memory holds both staged tiles."""
    roles = ("core", "thread", "serial")
    i, j = tile("i", extent, 3, roles), tile("j", extent, 3, roles)
    side = {d.name: tuple((d.name, part) for part in (1, 2)) for d in (i, j)}
    shared = Quantity("shared_bytes", "B", tuple(Term(scale, f) for f in side.values()))
    threads = Quantity("threads", "threads", (Term(1.0, (("i.tile", 1), ("j.tile", 1))),))
    return Task("gemm", "gpu_sm", (i, j), (shared, threads), matmul=True, thread_floor=floor)


def valid_values(task: Task, chip: Any) -> dict[str, np.ndarray]:
    """For each decision, which values some valid completion has, by trying all of them."""
    alive = {d.name: np.zeros(len(d.values), bool) for d in task.decisions}
    limits = {"shared_bytes": chip.shared_block_kib * 1024, "threads": chip.max_threads_block}
    for picks in itertools.product(*(range(len(d.values)) for d in task.decisions)):
        taken = {d.name: d.values[p] for d, p in zip(task.decisions, picks, strict=True)}
        amounts = {
            q.name: sum(
                t.coefficient * np.prod([taken[n][part] for n, part in t.factors]) for t in q.terms
            )
            for q in task.quantities
        }
        if all(amounts[q] <= limits[q] for q in amounts) and (
            amounts["threads"] >= task.thread_floor
        ):
            for d, p in zip(task.decisions, picks, strict=True):
                alive[d.name][p] = True
    return alive


def run(task: Task, rules: str = "default", chip: Chip = GPU) -> TaskResult:
    return TaskStage(rule_set(rules).task, chip, rules).run(task)


@settings(max_examples=25, deadline=None)
@given(
    extent=st.sampled_from([8, 12, 64, 97]),
    scale=st.sampled_from([64.0, 4096.0, 16384.0, 65536.0]),
    floor=st.sampled_from([0, 32, 64]),
)
def test_no_value_goes_that_a_valid_candidate_has(extent: int, scale: float, floor: int) -> None:
    task = gemm(extent, scale, floor)
    alive, result = valid_values(task, GPU), run(task)
    assert not result.disabled
    assert all(mask.any() for mask in result.allowed.values())
    if result.infeasible:
        assert not any(mask.any() for mask in alive.values())
        return
    for name, mask in result.allowed.items():
        assert not (alive[name] & ~mask).any()


@pytest.mark.parametrize(("scale", "floor"), [(16384.0, 0), (8192.0, 64), (4096.0, 256)])
def test_every_invalid_node_goes(scale: float, floor: int) -> None:
    """A limit alone, and two that pull against each other: threads take tiles, tiles take room."""
    task = gemm(64, scale, floor)
    alive, result = valid_values(task, GPU), run(task)
    invalid = sum((~mask).sum() for mask in alive.values())
    assert invalid > 0
    assert result.nodes_before - result.nodes_after == invalid


def test_a_pipeline_of_one_step_goes() -> None:
    k = tile("k", 8, 2, ("serial", "serial"))
    steps = Quantity("pipeline_extent", "steps", (Term(1.0, (("k.tile", 0),)),))
    result = run(Task("t", "gpu_sm", (k,), (steps,)))
    assert result.values("k.tile").tolist() == [[2, 4], [4, 2], [8, 1]]


def test_of_quantities_with_one_name_the_largest_counts() -> None:
    """Dynamic shared memory: max(A + B, C), as the arena is used twice."""
    x, y = choice("x", "threads", [1, 2]), choice("y", "threads", [1, 2])
    a = Quantity("shared_bytes", "B", (Term(100_000.0, (("x", 0),)),))
    c = Quantity("shared_bytes", "B", (Term(100_000.0, (("y", 0),)),))
    result = run(Task("t", "gpu_sm", (x, y), (a, c)))
    assert result.values("x").tolist() == result.values("y").tolist() == [[1]]


def test_one_loss_makes_another_value_impossible() -> None:
    """At least 1024 threads and at most 8 in i: j alone has to make 128, so its other values go."""
    i = Decision("i", "tile", np.array([[64, 1], [8, 8], [1, 64]]), ("serial", "thread"))
    j = Decision("j", "tile", np.array([[512, 1], [4, 128], [1, 512]]), ("serial", "thread"))
    threads = Quantity("threads", "threads", (Term(1.0, (("i", 1), ("j", 1))),))
    shared = Quantity("shared_bytes", "B", (Term(20_000.0, (("i", 1),)),))  # 8 fit, 64 do not
    task = Task("t", "gpu_sm", (i, j), (threads, shared), thread_floor=1024)
    result = run(task)
    assert result.values("i").tolist() == [[8, 8]]
    assert result.values("j").tolist() == [[4, 128]]
    assert result.verdict("j", 0).rule == "value-threads{bound=least}"
    verdict = result.verdict("j", 2)  # 512 threads with 64 of i, which do not fit
    assert verdict.rule == "value-completion"
    assert verdict.reason.startswith("no completion with 1024 to 1024 threads")


def test_verdicts_carry_numbers_basis_and_chain() -> None:
    task = Task("t", "gpu_sm", (choice("x", "threads", [1, 2048]),), (
        Quantity("threads", "threads", (Term(1.0, (("x", 0),)),)),
    ))  # fmt: skip
    result = run(task)
    verdict = result.verdict("x", 1)
    assert not verdict.keep
    assert verdict.stage == "task"
    assert "2048 threads" in verdict.reason
    assert (verdict.evidence[0].need, verdict.evidence[0].have) == (2048, 1024)
    assert verdict.basis[0].field == "max_threads_block"
    assert verdict.basis[0].mark
    chain = result.explain("x", 1)
    assert chain.subject == "t x = [2048]"
    assert [v.keep for v in chain.chain] == [False]
    assert result.explain("x", 0).verdict.keep


def test_infeasible_sketch_is_reported_and_keeps_its_safest_value() -> None:
    x = choice("x", "threads", [4096, 2048, 8192])
    task = Task("t", "gpu_sm", (x,), (Quantity("threads", "threads", (Term(1.0, (("x", 0),)),)),))
    result = run(task)
    assert (
        result.infeasible
        == "value-threads{bound=most} rules out every value of x: the safest one is left"
    )
    assert result.values("x").tolist() == [[2048]]


def test_where_no_completion_exists_a_value_that_is_left_stays() -> None:
    """Powers of 6, none of which is from 1000 to 1024; the first value of x is gone by then."""
    x, *rest = (choice("x", "threads", [2048, 1]), *(choice(n, "threads", [1, 6]) for n in "abcde"))
    threads = Quantity("threads", "threads", (Term(1.0, tuple((n, 0) for n in "xabcde")),))
    shared = Quantity("shared_bytes", "B", (Term(1.0, (("x", 0),)),))
    result = run(Task("t", "gpu_sm", (x, *rest), (threads, shared), thread_floor=1000))
    assert (
        result.infeasible == "value-completion rules out every value of x: the safest one is left"
    )
    assert result.values("x").tolist() == [[1]]
    assert not result.disabled


def test_soft_rule_that_would_leave_nothing_is_passed_over() -> None:
    task = Task(
        "t", "gpu_sm", (tile("i", 25, 2, ("core", "serial"), dtype="float16"),), matmul=True
    )
    only = np.array([[5, 5], [1, 25]])
    task = replace(task, decisions=(replace(task.decisions[0], values=only),))
    result = TaskStage([builtin().parse("split-multiple{multiple=16}")], GPU).run(task)
    assert result.nodes_after == result.nodes_before
    assert (
        result.remarks[0].text
        == "split-multiple{multiple=16} would leave no value of i.tile: passed over"
    )
    assert result.infeasible is None


def test_as_described_to_the_letter() -> None:
    i = tile("i", 64, 3, ("core", "serial", "serial"), dtype="float16")
    half, single = Axis("a", 0, "float16"), Axis("b", 0, "float32")
    short = Axis("k", 32, "float16", reduction=True)
    long = Axis("l", 33, "float16", reduction=True)
    task = Task(
        "t", "gpu_sm",
        (
            i,
            choice("a.vector", "vector_lanes", [1, 2, 4, 8], half),
            choice("b.vector", "vector_lanes", [1, 2, 4, 8], single),
            choice("k.threads", "threads", [1, 8, 32], short),
            choice("l.threads", "threads", [1, 8, 32], long),
        ),
        matmul=True,
    )  # fmt: skip
    result = run(task, "as-described")
    assert all(f == 1 or f % 16 == 0 for f in result.values("i.tile")[:, 1:].ravel())
    assert len(result.values("i.tile")) == 7  # one factor of 16, 32 or 64 in two places, or none
    assert result.values("a.vector").tolist() == [[8]]
    assert result.values("b.vector").tolist() == [[4]]
    assert result.values("k.threads").tolist() == [[1]]
    assert result.values("l.threads").tolist() == [[1], [8], [32]]
    assert [f.tolist() for f in result.factors("i.tile")] == [[1, 2, 4, 64]] + [[1, 16, 32, 64]] * 2


def test_default_keeps_what_as_described_only_dislikes() -> None:
    axis = Axis("a", 0, "float16")
    task = Task("t", "gpu_sm", (choice("v", "vector_lanes", [1, 2, 4, 8], axis),))
    assert run(task).nodes_after == 4


def test_tensorised_factors_count_elements() -> None:
    """On a 16-element intrinsic a factor of 3 is 48 elements, a multiple of 16."""
    d = Decision(
        "i", "tile", np.array([[2, 3], [6, 1]]), ("core", "serial"), Axis("i", 96, "float16"), 16
    )
    task = Task("t", "ascend_cube", (d,), matmul=True)
    assert run(task, "as-described", ASCEND).nodes_after == 2


def test_splits_of_a_length_one_axis() -> None:
    one, two = Axis("r", 1, "float32", reduction=True), Axis("s", 2, "float32", reduction=True)
    task = Task("t", "gpu_sm", (
        choice("r.threads", "threads", [4, 8, 16], one),
        choice("s.threads", "threads", [4, 8], two),
    ))  # fmt: skip
    result = run(task)
    assert result.values("r.threads").tolist() == [[4]]
    assert result.values("s.threads").tolist() == [[4], [8]]


@dataclass(frozen=True)
class _Broken:
    name: ClassVar[str] = "broken"
    stage: ClassVar[str] = "task"
    joint: ClassVar[bool] = False
    hard: ClassVar[bool] = False
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)

    def check(self, space: Space, decision: Decision, chip: Chip) -> Finding:
        raise KeyError("no such\naxis")


def test_a_broken_rule_is_named_and_left_out() -> None:
    rules: list[Any] = [_Broken(), *rule_set("default").task]
    result = TaskStage(rules, GPU).run(gemm(64, 16384.0))
    assert result.disabled == {"broken": "KeyError: 'no such\\naxis'"}
    assert result.nodes_after == run(gemm(64, 16384.0)).nodes_after


def test_running_twice_gives_the_same() -> None:
    stage = TaskStage(rule_set("default").task, GPU)
    first, second = stage.run(gemm(64, 16384.0, 32)), stage.run(gemm(64, 16384.0, 32))
    for name in first.allowed:
        assert np.array_equal(first.code[name], second.code[name])


@pytest.mark.parametrize(
    ("decisions", "quantities", "words"),
    [
        ((choice("x", "threads", [1]), choice("x", "threads", [2])), (), "given twice"),
        (
            (choice("x", "threads", [1]),),
            (Quantity("q", "B", (Term(1.0, (("y", 0),)),)),),
            "no decision 'y' with part 0",
        ),
    ],
)
def test_a_task_that_contradicts_itself_is_refused(
    decisions: Any, quantities: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Task("t", "gpu_sm", decisions, quantities)
