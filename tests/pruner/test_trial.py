"""The trial stage: rules, gate, probes, rescue, broken rules, explanations."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest

from hwsim.backends import simulate
from hwsim.chip import Chip
from hwsim.chips import load_chip
from hwsim.gpu_sm.gemm import clblast_gemm
from hwsim.table import KernelTable
from pruner.explain import to_text
from pruner.gate import Gate
from pruner.judgement import GATE, KEPT
from pruner.registry import builtin
from pruner.rule import Finding
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from pruner.verdict import Explanation, explanation_from_json, explanation_schema, to_json

GPU: Any = load_chip("a100-sxm-40gb")
ASCEND: Any = load_chip("ascend-910b1")


GRID = {
    "MWG": (32, 64, 128), "NWG": (32, 64, 128), "KWG": (16, 32), "MDIMC": (8, 16),
    "NDIMC": (8, 16), "MDIMA": (8, 16), "NDIMB": (8, 16), "VWM": (1, 2), "VWN": (1, 2),
    "SA": (0, 1), "SB": (0, 1),
}  # fmt: skip


def gemms(n: int, start: int = 0) -> KernelTable:
    """``n`` distinct kernels of one fixed shuffle of a tuning space."""
    axes = np.meshgrid(*GRID.values(), indexing="ij")
    order = np.random.default_rng(0).permutation(axes[0].size)[start : start + n]
    parameters = {name: axis.ravel()[order] for name, axis in zip(GRID, axes, strict=True)}
    return clblast_gemm(parameters, 1024, 1024, 1024)


def names(n: int, prefix: str = "c") -> list[str]:
    return [f"{prefix}{i}" for i in range(n)]


def stage(*specs: str, gate: Gate | None = None, chip: Chip = GPU, **options: Any) -> TrialStage:
    return TrialStage([builtin().parse(s) for s in specs], gate, chip, **options)


def ascend(**columns: Any) -> KernelTable:
    return KernelTable.of("ascend_cube", **columns)


L0A = 64 * 1024


def test_the_first_rule_in_order_gets_the_blame() -> None:
    table = ascend(l0a_bytes=[1.0, 2.0 * L0A, 2.0 * L0A], l1_bytes=[1.0, 1.0, 1e9])
    judged = stage("capacity{scope=l1}", "capacity{scope=l0a}", chip=ASCEND).judge(table, names(3))
    assert judged.code.tolist() == [KEPT, 1, 0]
    assert judged.keep.tolist() == [True, False, False]
    assert judged.pruned_by() == {"capacity{scope=l1}": 1, "capacity{scope=l0a}": 1}


def test_any_kernel_of_a_candidate_can_prune_it_and_the_worst_one_is_shown() -> None:
    table = ascend(l0a_bytes=[1.0, 2.0 * L0A, 3.0 * L0A, 1.0], candidate=[0, 1, 1, 2])
    judged = stage("capacity{scope=l0a}", chip=ASCEND).judge(table, names(3))
    assert judged.keep.tolist() == [True, False, True]
    assert judged.verdict(1).evidence[0].need == 3 * L0A


def test_rules_of_other_backends_are_left_out() -> None:
    rules = rule_set("default").trial
    assert "capacity{scope=l1}" in TrialStage(rules, None, ASCEND).specs
    assert "capacity{scope=l1}" not in TrialStage(rules, None, GPU).specs


def test_verdict_says_all_there_is_to_say() -> None:
    table = ascend(l0a_bytes=[2.0 * L0A, 1.0])
    verdict = stage("capacity{scope=l0a}", chip=ASCEND).judge(table, names(2)).verdict(0)
    assert verdict.rule == "capacity{scope=l0a}"
    assert verdict.reason == "needs 131072 B of l0a, there are 65536 B"
    assert verdict.benefit is not None
    assert verdict.benefit.text == "a compilation that fails for 65536 B of l0a"
    assert verdict.benefit.saved_s == ASCEND.bench.compile_s
    assert (verdict.basis[0].field, verdict.basis[0].value) == ("l0a_kib", 64)
    assert verdict.basis[0].source == ASCEND.provenance["l0a_kib"].source


def test_everything_pruned_is_said_and_the_safest_is_measured() -> None:
    table = ascend(l0a_bytes=[4.0 * L0A, 1.5 * L0A, 3.0 * L0A], l1_bytes=[1.0, 1.0, 1e9])
    judging = stage("capacity{scope=l1}", "capacity{scope=l0a}", chip=ASCEND)
    judged = judging.judge(table, names(3))
    assert judged.keep.tolist() == [False, True, False]
    assert (
        judged.note
        == "capacity{scope=l0a} left nothing of 3 candidates: the safest one is measured"
    )
    assert judged.verdict(1).keep
    assert not judging.judge(table, names(3), rescue=False).keep.any()


def test_the_safest_breaks_no_hard_limit_if_there_is_one() -> None:
    columns = {"shared_bytes": [1e9, 1.0, 1.0], "threads": 64, "acc_regs": [1, 900, 600]}
    table = KernelTable.of("gpu_sm", **columns)
    judged = stage("capacity{scope=shared}", "register-spill").judge(table, names(3))
    assert judged.keep.tolist() == [False, False, True]


@dataclass(frozen=True)
class _Broken:
    name: ClassVar[str] = "broken"
    stage: ClassVar[str] = "trial"
    backends: ClassVar[tuple[str, ...]] = ("gpu_sm",)
    hard: ClassVar[bool] = False
    answer: str = "raise"

    def check(self, table: KernelTable, chip: Chip) -> Any:
        if self.answer == "raise":
            raise RuntimeError("no luck")
        if self.answer == "none":
            return "a string"
        n = 1 if self.answer == "short" else table.n
        return Finding(np.zeros(n, bool), "q", np.ones(n), np.ones(n), "B", "")


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("raise", "RuntimeError: no luck"),
        ("none", "RuleError: answered str, expected a Finding"),
        ("short", r"RuleError: keep is bool (1,), expected bool (10,)"),
        ("empty reason", "RuleError: reason is empty"),
    ],
)
def test_a_broken_rule_is_named_and_the_rest_goes_on(answer: str, complaint: str) -> None:
    rules: list[Any] = [_Broken(answer), builtin().parse("tvm-verifier")]
    judging = TrialStage(rules, None, GPU)
    judged = judging.judge(gemms(10), names(10))
    assert list(judged.disabled.values()) == [complaint]
    assert judged.keep.all()
    assert judged.explain(0).disabled == judged.disabled
    assert len(judged.explain(0).chain) == 1


def trained_stage(seed: int = 0, epsilon: float = 0.02) -> tuple[TrialStage, KernelTable]:
    table = gemms(256)
    judging = TrialStage(
        rule_set("default").trial, Gate(seed=seed), GPU, seed=seed, epsilon=epsilon
    )
    latency = simulate(table, GPU).latency_us
    judging.observe(table, names(256, "seen"), latency)
    return judging, gemms(2000, 256)


def test_gate_prunes_what_the_rules_let_pass() -> None:
    judging, table = trained_stage()
    judged = judging.judge(table, names(2000))
    latency = simulate(table, GPU).latency_us
    near = latency <= latency.min() * 1.05
    worse = latency > judging.gate.best_us  # type: ignore[union-attr]
    kept_by_rules = worse & ((judged.code == GATE) | (judged.code == KEPT))
    assert (judged.code[kept_by_rules] == GATE).mean() > 0.5
    assert (judged.code[near] == GATE).mean() <= 0.01
    asked = (judged.code == GATE) | (judged.code == KEPT)
    assert (np.isfinite(judged.probability) == asked).all()


def test_probes_are_a_fixed_share_and_do_not_depend_on_the_batch() -> None:
    judging, table = trained_stage(epsilon=0.1)
    judged = judging.judge(table, names(2000))
    pruned = judged.code != KEPT
    assert judged.probe.sum() == pytest.approx(0.1 * pruned.sum(), rel=0.4)
    assert not (judged.probe & ~pruned).any()
    assert judged.keep[judged.probe].all()
    some = [*np.flatnonzero(judged.probe)[:5].tolist(), 0, 1]
    again = judging.judge(table.take_candidates(some), [names(2000)[i] for i in some])
    assert again.probe.tolist() == judged.probe[some].tolist()
    other = trained_stage(epsilon=0.1)[0]
    other._seed = 1
    assert (other.judge(table, names(2000)).probe != judged.probe).any()


def test_a_probe_says_so() -> None:
    judging, table = trained_stage(epsilon=1.0)
    judged = judging.judge(table, names(2000))
    i = int(np.flatnonzero(judged.probe & (judged.code == GATE))[0])
    verdict = judged.verdict(i)
    assert verdict.keep
    assert verdict.probe
    assert verdict.rule.startswith("lightgbm-gate{version=")
    assert "measured as a probe by lightgbm-gate" in to_text(judged.explain(i))


def test_penalty_is_infinite_beyond_a_limit_and_the_slowest_run_for_the_rest() -> None:
    judging = stage("tvm-verifier", "register-spill")
    table = KernelTable.of("gpu_sm", threads=[64, 2048, 64], acc_regs=[1, 1, 900])
    assert judging.judge(table, names(3)).penalty_us[1:].tolist() == [np.inf, np.inf]
    judging.observe(table.take_candidates([0, 0, 0]), names(3), [5.0, 9.0, np.inf])
    penalty = judging.judge(table, names(3)).penalty_us
    assert np.isnan(penalty[0])
    assert penalty[1:].tolist() == [np.inf, 9.0]


def test_hard_limits_are_not_probed() -> None:
    table = ascend(l0a_bytes=np.full(100, 2.0 * L0A))
    judged = stage("capacity{scope=l0a}", chip=ASCEND, epsilon=1.0).judge(
        table, names(100), rescue=False
    )
    assert not judged.probe.any()


def test_probes_correct_a_gate_that_errs() -> None:
    """The chip changes under a trained gate; probes contradict it and it opens."""
    judging, table = trained_stage(epsilon=0.2)
    assert judging.gate is not None
    judged = judging.judge(table, names(2000))
    chosen = np.flatnonzero(judged.probe & (judged.code == GATE))[:48]
    halved = np.full(len(chosen), judging.gate.best_us / 2)
    judging.observe(table.take_candidates(chosen), [names(2000)[i] for i in chosen], halved)
    assert judging.gate.open
    assert not (judging.judge(table, names(2000)).code == GATE).any()


def test_bound_follows_the_best_of_the_run() -> None:
    table = KernelTable.of("gpu_sm", macs=[1e9, 1e12], blocks=1080, threads=256)
    judging = stage("roofline-bound")
    assert judging.judge(table, names(2)).keep.all()
    judging.observe(table.take([0]), ["c0"], [500.0])
    judged = judging.judge(table, names(2))
    assert judged.keep.tolist() == [True, False]
    assert judged.verdict(1).rule == "roofline-bound{slack=1.25}"


def test_nothing_to_judge() -> None:
    judged = TrialStage(rule_set("default").trial, None, GPU).judge(
        gemms(4).take(np.zeros(4, bool)), []
    )
    assert len(judged) == 0
    assert judged.note is None


def test_hashes_have_to_match() -> None:
    with pytest.raises(ValueError, match="3 hashes for 4 candidates"):
        stage("tvm-verifier").judge(gemms(4), names(3))
    with pytest.raises(ValueError, match="epsilon 2: expected a share"):
        stage("tvm-verifier", epsilon=2)


def test_chain_names_every_rule_in_order_and_round_trips() -> None:
    judging, table = trained_stage()
    judged = judging.judge(table, names(2000))
    for i in (
        int(np.flatnonzero(judged.code == GATE)[0]),
        int(np.flatnonzero(judged.code == KEPT)[0]),
    ):
        chain = judged.explain(i)
        assert [v.rule for v in chain.chain] == [*judged.rules, judged.gate]
        assert all(v.evidence and v.reason for v in chain.chain)
        assert chain.verdict.keep == judged.keep[i]
        assert explanation_from_json(to_json(chain)) == chain
        assert to_json(chain) == to_json(chain)


def test_json_keys_are_snake_case_and_versioned() -> None:
    table = ascend(l0a_bytes=[2.0 * L0A, 1.0])
    chain = stage("capacity{scope=l0a}", chip=ASCEND).judge(table, names(2)).explain(0)
    data = json.loads(to_json(chain))
    assert data["schema_version"] == "1.1.0"
    assert data["verdict"]["evidence"][0] == {
        "name": "l0a_bytes", "need": 131072.0, "have": 65536.0, "unit": "B",
    }  # fmt: skip
    assert set(data["verdict"]) == {
        "keep", "stage", "rule", "reason", "basis", "evidence", "benefit", "probability", "probe",
    }  # fmt: skip
    schema = explanation_schema()
    assert schema["$ref"] == "#/$defs/Explanation"
    with pytest.raises(msgspec.ValidationError, match="chain"):
        msgspec.json.decode(b'{"subject": "x", "chain": 3}', type=Explanation)


def test_a_limit_that_does_not_exist_yet_is_null() -> None:
    judged = TrialStage(rule_set("default").trial, None, GPU).judge(gemms(1), names(1))
    chain = judged.explain(0)
    assert explanation_from_json(to_json(chain)) == chain
    bound = next(v for v in chain.chain if v.rule.startswith("roofline-bound"))
    assert bound.evidence[0].have is None
    assert "have -" in to_text(chain)


def test_text_for_a_terminal() -> None:
    table = ascend(l0a_bytes=[2.0 * L0A, 1.0])
    judging = stage("capacity{scope=l0a}", chip=ASCEND, rule_set="mine")
    text = to_text(judging.judge(table, ["evil\x1b[31m\nhash", "b"]).explain(0))
    assert "\x1b" not in text
    lines = text.splitlines()
    assert lines[0].startswith("evil\\x1b[31m\\nhash on ascend-910b1")
    assert "  1. PRUNE capacity{scope=l0a}" in lines
    assert "     l0a_bytes: need 131072 B, have 65536 B" in lines
    assert any(line.startswith("     basis: ascend-910b1 l0a_kib = 64 (V: ") for line in lines)
    assert lines[-1] == "=> pruned by capacity{scope=l0a}: needs 131072 B of l0a, there are 65536 B"
