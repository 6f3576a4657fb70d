"""The functions that C++ calls, from Python and from the example in C++."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from tvm_ffi import libinfo

from hwsim.chips import load_chip
from pruner.gate import Gate
from pruner.judgement import GATE
from pruner.recording.table import Layout
from pruner.rulesets import rule_set
from pruner.trial import TrialStage
from tuner.native import library as native
from tuner.native.export import columns_of_table, exported
from tuner.problem import Problem
from tuner.search import Pool
from tuner.truth import truth
from tuner.workloads import resolve

EXAMPLE = Path(__file__).parents[3] / "examples" / "prune_search_space.cc"


@pytest.fixture(scope="module")
def taught():
    """A stage whose gate has learned, and candidates that it has not seen."""
    chip, rules = load_chip("mlu370-s4"), rule_set("default")
    problem = Problem.of(resolve("gemm:128x96x256:float16"), chip)
    seen, fresh = (
        Pool(tuple(s.sample(np.random.default_rng(seed), 200) for s in problem.sketches))
        for seed in (0, 1)
    )
    hard = [rule for rule in rules.trial if rule.hard and chip.backend in rule.backends]
    stage = TrialStage(hard, Gate(rules.gate), chip, epsilon=0.0)
    latency_us = truth(problem, seen).latency_us
    stage.observe(problem.kernels(seen), problem.hashes(seen), latency_us)
    table = problem.kernels(fresh)
    return stage, table, stage.judge(table, problem.hashes(fresh), rescue=False)


@pytest.fixture(scope="module")
def pruner(taught):
    stage, table, _ = taught
    return exported(stage.rules, stage.gate, stage.chip, Layout.of(table))


def test_prune_search_space_says_what_the_trial_stage_says(library, taught, pruner):
    _, table, judged = taught
    first = np.arange(table.n_candidates)
    mask, code, probability = map(
        np.from_dlpack,
        library("PruneSearchSpace")(pruner.to_json(), columns_of_table(pruner, table), first),
    )
    np.testing.assert_array_equal(code, judged.code)
    np.testing.assert_array_equal(mask.astype(bool), judged.code == -1)
    np.testing.assert_allclose(probability, judged.probability, rtol=1e-12)
    assert (code == GATE).any()


def test_one_candidate_as_a_postprocessor_asks(library, taught, pruner):
    _, table, judged = taught
    ask, columns = library("LoadCandidate")(pruner.to_json()), columns_of_table(pruner, table)
    for i in range(40):
        assert ask(np.ascontiguousarray(columns[:, i : i + 1])) == judged.code[i]


@pytest.mark.parametrize("broken", ["{}", '{"programme": 3}', "nonsense"])
def test_a_broken_pruner_is_refused(library, broken):
    with pytest.raises(Exception, match=r"pruner|JSON|Cannot|cast|xpect"):
        library("LoadCandidate")(broken)


def test_the_example_in_cpp(library, taught, pruner, tmp_path):
    _, table, judged = taught
    program, lib = tmp_path / "prune", Path(libinfo.find_libtvm_ffi()).parent
    includes = [f"-I{libinfo.find_include_path()}", f"-I{libinfo.find_dlpack_include_path()}"]
    link = [f"-L{lib}", "-ltvm_ffi", "-ldl", f"-Wl,-rpath,{lib}"]
    build = [native.compiler(), "-std=c++17", str(EXAMPLE), "-o", str(program), *includes, *link]
    subprocess.run(build, check=True, timeout=300)
    (tmp_path / "pruner.json").write_text(pruner.to_json())
    columns = columns_of_table(pruner, table)
    numbers = " ".join(map(repr, columns.ravel().tolist()))
    said = subprocess.run(
        [program, native.built(), tmp_path / "pruner.json"],
        input=f"{columns.shape[0]} {columns.shape[1]} {numbers}",
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    codes = [int(line.split()[0]) for line in said.stdout.splitlines()]
    assert codes == judged.code.tolist()
