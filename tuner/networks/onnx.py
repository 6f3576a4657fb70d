"""A network from an ONNX file: TVM's Relax front end, operators fused, tasks extracted.

Each distinct fused function becomes a workload of its own, ``FILE.onnx:FUNCTION``, weighted by how
often the network calls it.  What is no tunable program is named and counted.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tuner.networks.network import Network, NetworkError, Task, Untuned
from tuner.workloads import Workload, WorkloadError
from tuner.workloads.source import workload_of


@cache
def read_onnx(path: str) -> Network:
    """The network of an ONNX file with static shapes.

    Raises
    ------
    NetworkError
        No such file, the extra ``onnx`` is not installed, TVM does not import the model, or nothing
        in it can be tuned.
    """
    from tvm.s_tir.meta_schedule.relax_integration import extract_tasks
    from tvm.target import Target

    mod = _fused(_imported(path))
    tasks, untuned = [], _foreign(mod)
    for found in extract_tasks(mod, Target({"kind": "llvm", "num-cores": 1})):
        name, weight = str(found.task_name), int(found.weight)
        try:
            tasks.append(Task(_workload(f"{path}:{name}", found.dispatched[0]["main"]), weight))
        except WorkloadError as reason:
            untuned.append(Untuned(name, weight, str(reason)))
    if not tasks:
        reasons = "; ".join(f"{u.name}: {u.reason}" for u in untuned)
        raise NetworkError(f"network {path!r}: holds nothing that can be tuned: {reasons}")
    return Network(path, tuple(tasks), tuple(untuned))


def onnx_workload(path: str, function: str) -> Workload:
    """One task of the network by its function's name; ``WorkloadError`` where there is none."""
    try:
        network = read_onnx(path)
    except NetworkError as error:
        raise WorkloadError(str(error)) from None
    found = {task.workload.name.rpartition(":")[2]: task.workload for task in network.tasks}
    if function not in found:
        raise WorkloadError(f"{path}: no task {function!r}, expected one of {', '.join(found)}")
    return found[function]


def _workload(spec: str, function: Any) -> Workload:
    if spec.rpartition(":")[2].startswith("reshape"):
        raise WorkloadError("a reshape: moves no data")
    return workload_of(spec, function, tags=("onnx",))


def _foreign(mod: Any) -> list[Untuned]:
    """Calls in the network's main function that are not to a TIR function."""
    from tvm import relax

    counted: Counter[str] = Counter()

    def visit(node: Any) -> None:
        if isinstance(node, relax.Call):
            counted[str(getattr(node.op, "name", node.op))] += 1

    relax.analysis.post_order_visit(mod["main"], visit)
    del counted["relax.call_tir"]
    return [Untuned(name, n, "TVM has no TIR program for it") for name, n in counted.items()]


def _imported(path: str) -> Any:
    if not Path(path).is_file():
        raise NetworkError(f"network {path!r}: no file of that name")
    if find_spec("onnx") is None:
        raise NetworkError(f"network {path!r}: needs the extra onnx: pip install 'prunelab[onnx]'")
    import onnx
    from tvm.relax.frontend.onnx import from_onnx

    try:
        return from_onnx(onnx.load(path))
    except Exception as error:  # the parser's and the front end's errors share no class
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[-1] if lines else type(error).__name__
        raise NetworkError(f"network {path!r}: TVM does not import it: {reason}") from None


def _fused(mod: Any) -> Any:
    """Every operator a TIR function, weights folded, what TVM fuses fused."""
    from tvm import ir, relax

    passes = [
        relax.transform.DecomposeOpsForInference(),
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FoldConstant(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
        relax.transform.DeadCodeElimination(),
    ]
    return ir.transform.Sequential(passes)(mod)
