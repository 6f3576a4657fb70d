"""``tune_tir`` with TVM's signature: what it finds, prunes, remembers and refuses."""

import inspect
import json
import subprocess
import sys
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from tvm.ir.utils import derived_object
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms

from hwsim.chips import load_chip
from tuner import register_callback, spaces, tune_tir
from tuner.check import check_schedule
from tuner.dropin import TuneError, TuneWarning
from tuner.dropin.cost_model import Honest
from tuner.dropin.postproc import Contained
from tuner.dropin.targets import overprunes, resolve_target
from tuner.workloads import resolve

ASCEND = "ascend-910b1"
GEMM = "gemm:64x64x64:float16"
ADD = "add:64x64:float32"
LARGE = "gemm:2048x2048x2048:float16"
QUICK = partial(
    ms.search_strategy.EvolutionarySearch,
    population_size=16,
    init_min_unmeasured=4,
    genetic_num_iters=1,
)


@cache
def program(spec: str):
    return resolve(spec).prim_func()


def tune(folder, spec=ADD, target=ASCEND, trials=6, **given):
    options = {"strategy": QUICK(), "cost_model": "random", "num_trials_per_iter": 3, "seed": 1}
    options |= {"num_tuning_cores": 1, **given}
    return tune_tir(program(spec), target, str(folder), trials, **options)


def lines(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "prunelab.jsonl").read_text().splitlines()]


def test_the_signature_is_tvms_and_two_more():
    tvms = list(inspect.signature(ms.tune_tir).parameters.values())
    ours = list(inspect.signature(tune_tir).parameters.values())
    assert [p.name for p in ours] == [p.name for p in tvms] + ["pruner", "chip"]
    changed = {o.name for o, t in zip(ours, tvms, strict=False) if o.default != t.default}
    assert changed == {"builder", "runner"}  # the chip's simulator, where there is a chip
    assert [p.kind for p in ours[: len(tvms)]] == [p.kind for p in tvms]


def test_importing_tuner_does_not_import_tvm():
    code = "import tuner, sys; assert 'tvm' not in sys.modules; import tuner.dropin as d;"
    code += "assert tuner.tune_tir is d.tune_tir"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_best_record_compiles_and_computes_the_right_values(tmp_path):
    database = tune(tmp_path, GEMM)
    assert len(database) == 6
    target = spaces.target(load_chip(ASCEND))
    best = ms.tir_integration.compile_tir(database, program(GEMM), target)
    assert check_schedule(best, resolve(GEMM), seed=0).ok
    again = ms.database.JSONDatabase(work_dir=str(tmp_path))
    assert len(again) == 6


def test_what_is_pruned_is_in_the_log_with_rule_and_evidence(tmp_path):
    tune(tmp_path, LARGE)
    verdicts = [line["verdict"] for line in lines(tmp_path) if "verdict" in line]
    assert {v["stage"] for v in verdicts} == {"task", "trial"}
    assert not any(v["keep"] for v in verdicts)
    hard = [v for v in verdicts if v["rule"].startswith("capacity{")]
    assert hard
    for verdict in hard:
        (evidence,) = verdict["evidence"]
        assert evidence["need"] > evidence["have"]
        assert verdict["reason"]
        assert verdict["basis"][0]["chip"] == ASCEND


@pytest.mark.slow
def test_the_local_cpu_is_measured_and_its_best_computes_the_right_values(tmp_path):
    spec = "gemm:64x64x64:float32"
    database = tune(tmp_path, spec, "local-cpu", strategy="replay-trace")
    assert all(0 < float(r.run_secs[0]) < 1 for r in database.get_all_tuning_records())
    target = spaces.target(load_chip("local-cpu"))
    best = ms.tir_integration.compile_tir(database, program(spec), target)
    assert check_schedule(best, resolve(spec), seed=0).ok


@pytest.mark.slow
def test_pruning_spares_the_board_its_failures(tmp_path):
    tune(tmp_path / "pruned", LARGE, trials=12)
    tune(tmp_path / "plain", LARGE, trials=12, pruner=None)

    def failed(folder):
        return sum("error" in line for line in lines(tmp_path / folder))

    assert failed("pruned") < failed("plain")
    assert not any("verdict" in line for line in lines(tmp_path / "plain"))


def test_a_second_run_measures_nothing_again(tmp_path):
    names = []
    for _ in range(2):
        database = tune(tmp_path)
        names = [str(r.trace) for r in database.get_all_tuning_records()]
    assert len(names) == len(set(names)) == 12


def test_failures_stay_out_of_the_database_and_are_remembered(tmp_path):
    for _ in range(2):
        database = tune(tmp_path, LARGE, trials=12, pruner=None)
    records = database.get_all_tuning_records()
    assert all(float(s) < 1 for r in records for s in r.run_secs)
    failed = [line["subject"] for line in lines(tmp_path) if "error" in line]
    assert failed
    assert len(failed) == len(set(failed))
    assert len(records) + len(failed) == 24


def test_a_callback_hears_both_stages_and_may_overrule(tmp_path):
    heard = []

    @register_callback
    def callback(task, subject, verdict):
        found = json.loads(verdict)
        heard.append((found["stage"], subject, found["keep"]))
        if subject.endswith("buffers = 0"):
            return False  # double buffering or nothing
        return None

    try:
        database = tune(tmp_path, LARGE)
    finally:
        register_callback(None)
    assert {stage for stage, _, _ in heard} == {"task", "trial"}
    pruned = [line for line in lines(tmp_path) if line.get("verdict", {}).get("rule") == "callback"]
    assert pruned
    assert all(line["verdict"]["stage"] == "task" for line in pruned)
    for record in database.get_all_tuning_records():
        buffers = [
            int(value)
            for inst, value in record.trace.decisions.items()
            if inst.kind.name == "SampleCategorical" and len(inst.attrs[0]) == 2
        ]
        assert buffers
        assert all(buffers)


def test_a_callback_that_raises_is_left_out(tmp_path):
    def callback(*_):
        raise KeyError("nonsense")

    register_callback(callback)
    try:
        with pytest.warns(TuneWarning, match="main: the callback is left out: KeyError"):
            assert len(tune(tmp_path)) == 6
    finally:
        register_callback(None)


def test_a_pruner_that_rejects_everything_opens_and_says_so(tmp_path):
    register_callback(lambda task, subject, verdict: False)
    try:
        with pytest.warns(TuneWarning) as said:
            database = tune(tmp_path)
    finally:
        register_callback(None)
    assert len(database) == 6
    text = "\n".join(str(w.message) for w in said)
    assert "the pruner lets everything pass until it has learned" in text
    assert "is pruned: they are all kept" in text


@derived_object
class Refusing(ms.builder.PyBuilder):
    """A builder of which nothing comes."""

    def build(self, inputs):
        return [ms.builder.BuilderResult(None, "no compiler")] * len(inputs)


def test_nothing_that_ran_is_an_error_and_not_a_record_of_1e10_s(tmp_path):
    with pytest.raises(TuneError, match=r"^main: nothing ran: 6 measured .* no compiler\)"):
        tune(tmp_path, builder=Refusing(), runner="local")
    assert len(ms.database.JSONDatabase(work_dir=str(tmp_path))) == 0


def test_targets_name_their_chips():
    assert resolve_target("nvidia/nvidia-a100", None)[1].name == "a100-sxm-40gb"
    target, chip = resolve_target(ASCEND, None)
    assert chip.name == ASCEND
    assert resolve_target(target, None)[1].name == ASCEND
    llvm = {"kind": "llvm", "num-cores": 1}
    assert resolve_target(llvm, None)[1] is None
    with pytest.raises(TuneError, match=r"^chip ascend-910b1 with a target of kind llvm"):
        resolve_target(llvm, ASCEND)
    with pytest.raises(TuneError, match=r"^target 'llvm -num-cores 4': "):
        resolve_target("llvm -num-cores 4", None)


def test_a_pruner_without_a_chip_is_one_line(tmp_path):
    with pytest.raises(TuneError, match="which chip is that"):
        tune(tmp_path, target={"kind": "cuda", "arch": "sm_80"})


def test_a_stock_tag_that_overprunes_is_told():
    stock, chip = resolve_target("nvidia/nvidia-a100", None)
    assert "caps shared memory at 49152 B a block" in overprunes(stock, chip)
    assert overprunes(*resolve_target("a100-sxm-40gb", None)) is None
    assert overprunes(*resolve_target(ASCEND, None)) is None


class Recording:
    """A cost model that keeps what it is told."""

    def __init__(self):
        self.told = []

    def update(self, context, candidates, results):
        self.told.append([bool(r.run_secs) for r in results])

    def predict(self, context, candidates):
        return np.array([np.nan, 1.0])


def test_failures_alone_teach_the_cost_model_nothing():
    inner = Recording()
    model = Honest(inner)._inst
    context = ms.TuneContext(Schedule(program(GEMM)).mod, target={"kind": "llvm", "num-cores": 1})
    failed, ran = ms.runner.RunnerResult(None, "no"), ms.runner.RunnerResult([1e-6], None)
    model.update(context, [None, None], [failed, failed])
    assert inner.told == []
    model.update(context, [None], [ran])
    model.update(context, [None], [failed])
    assert inner.told == [[False, False, True], [False]]
    assert model.predict(context, []).tolist() == [0.0, 1.0]


def test_a_postprocessor_of_tvms_that_raises_rejects_one_candidate(tmp_path):
    class Raising:
        def apply(self, sch):
            raise RuntimeError("first\nthe reason")

    noted = []

    class Log:
        def note(self, task, text):
            noted.append((task, text))

    class Screen:
        task, log = "main", Log()

    assert not Contained(Raising(), Screen()).apply(Schedule(program(GEMM)))
    assert noted == [("main", "TVM's Raising raised: the reason")]


def test_the_example_runs(tmp_path, capsys):
    path = Path(__file__).parents[2] / "examples" / "tune_tir.py"
    spec = spec_from_file_location("example", path)
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(str(tmp_path), trials=4)
    assert "the best of 4 that ran" in capsys.readouterr().out
