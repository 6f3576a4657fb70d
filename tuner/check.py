"""Numerical check that a scheduled program still computes what its workload says.

The program is run on the CPU: loops over blocks, threads and vector lanes become serial ones (LLVM
takes seconds over vectors as long as an accelerator's), tensor intrinsics are their plain loops
already, tagged storage scopes are ordinary memory to LLVM.  What
postprocs add after the decisions (TVM's cooperative fetch, ``wmma`` calls) cannot run serially and
is left out.  The output lies between guard zones, so that a write beyond it is caught.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tuner.workloads import GENERATED, KINDS, Workload, resolve

GUARD_BYTES = 1 << 16
_ALIGN = 64  # bytes; what TVM's generated code assumes of its arguments
# Largest error allowed, relative to the largest magnitude of the reference: twice what rounding the
# output costs, and the accumulation error of small shapes in float32.
TOLERANCE = {"float16": 2e-3, "float32": 2e-5, "int8": 0.0, "int32": 0.0}


@dataclass(frozen=True)
class CheckReport:
    """``max_error`` and ``tolerance`` are relative to the reference's largest magnitude.

    ``problem`` says in one line what is wrong; empty where the program is right.
    """

    workload: str
    seed: int
    max_error: float
    tolerance: float
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether the program computes the right values and nothing else."""
        return not self.problem


def small_like(workload: Workload) -> Workload:
    """A workload of the same kind and structure (padding, strides) that a CPU runs at once.

    Schedules of a large workload are checked through the same sketch of its small likeness.  A
    function of the user's file cannot be shrunk and is returned as it is.
    """
    if workload.kind not in KINDS:
        return workload
    dims = KINDS[workload.kind].small(workload.shapes)
    spec = f"{workload.kind}:{'x'.join(map(str, dims))}:{workload.dtype}"
    return resolve(spec if workload.space == GENERATED else f"{spec}@{workload.space}")


def check_schedule(sch: Any, workload: Workload, seed: int, *, emulate: bool = True) -> CheckReport:
    """Run the program of ``sch`` (``tvm.s_tir.Schedule`` of ``workload``) on random inputs.

    Without ``emulate`` the program of a CPU runs as it is, parallel and vectorised.

    ``seed`` draws the inputs.  The reference is numpy's, or the unscheduled program where the
    workload comes from a user's file.  Meant for small shapes: a 1024^3 product takes 10 s.
    """
    inputs = random_inputs(workload, seed)
    expected = _reference(workload, inputs)
    try:
        program = serial(_program(sch, workload)) if emulate else sch.mod
        found, clean = _run(program, inputs, expected)
    except Exception as error:  # TVM raises many kinds; all mean that the program is no good
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return CheckReport(workload.spec, seed, np.inf, 0.0, f"does not build or run: {lines[-1]}")
    return _compare(workload, seed, expected, found, clean)


def random_inputs(workload: Workload, seed: int) -> tuple[NDArray[Any], ...]:
    """One array for each input of ``workload``.

    Floats in [-1, 1), int8 over its whole range, wider integers small and not negative, so that
    they serve as indices into every other input.
    """
    rng = np.random.default_rng(seed)
    *inputs, _ = _signature(workload)
    least = min((extent for shape, _ in inputs for extent in shape), default=1)
    return tuple(_random(rng, shape, dtype, least) for shape, dtype in inputs)


def serial(mod: Any) -> Any:
    """``mod`` with every loop over blocks, threads or vector lanes made serial.

    Software pipelines are undone as well: their asynchronous copies exist on a GPU only.
    """
    import tvm_ffi
    from tvm import IRModule, tirx

    parallel = (tirx.ForKind.THREAD_BINDING, tirx.ForKind.VECTORIZED)

    def plain(loop: Any) -> Any:
        pipelined = any(key.startswith("software_pipeline") for key in loop.annotations)
        if loop.kind not in parallel and not pipelined:
            return loop
        return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, loop.body)

    function = mod["main"]
    body = tvm_ffi.structural_map(function.body, (tirx.For, plain))
    return IRModule({"main": function.with_body(body).with_attrs(function.attrs)})


def _program(sch: Any, workload: Workload) -> Any:
    """The scheduled program, replayed without its postprocs where it has any."""
    if sch.trace is None or all(i.kind.name != "EnterPostproc" for i in sch.trace.insts):
        return sch.mod
    from tvm import IRModule
    from tvm.s_tir import Schedule

    fresh = Schedule(IRModule({"main": workload.prim_func()}))
    sch.trace.apply_to_schedule(fresh, remove_postproc=True)
    return fresh.mod


def _signature(workload: Workload) -> list[tuple[tuple[int, ...], str]]:
    params = workload.prim_func().params
    return [(tuple(int(x) for x in p.shape), str(p.dtype)) for p in params]


def _random(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, least: int
) -> NDArray[Any]:
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-1, 1, shape).astype(dtype)
    low, high = (-128, 128) if dtype == "int8" else (0, least)
    return rng.integers(low, high, shape, dtype=dtype)


def _reference(workload: Workload, inputs: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    if workload.kind in KINDS:
        return KINDS[workload.kind].reference(inputs, workload.shapes, workload.dtype)
    from tvm import IRModule

    shape, dtype = _signature(workload)[-1]
    mod = IRModule({"main": workload.prim_func()})
    return _run(mod, inputs, np.zeros(shape, dtype))[0]


def _run(
    mod: Any, inputs: tuple[NDArray[Any], ...], like: NDArray[Any]
) -> tuple[NDArray[Any], bool]:
    """``(output, guard zones untouched)`` of the program on the CPU."""
    import tvm

    function = tvm.compile(mod, target=_cpu())
    zone = np.full(like.nbytes + 2 * GUARD_BYTES + _ALIGN, 0x5A, np.uint8)
    start = GUARD_BYTES + -(zone.ctypes.data + GUARD_BYTES) % _ALIGN
    end = start + like.nbytes
    output = zone[start:end].view(like.dtype).reshape(like.shape)
    function(*map(tvm.runtime.tensor, inputs), tvm.runtime.from_dlpack(output))
    clean = bool((zone[:start] == 0x5A).all() and (zone[end:] == 0x5A).all())
    return output, clean


@cache
def _cpu() -> Any:
    from tvm.target import Target

    return Target({"kind": "llvm", "num-cores": 1})


def _compare(
    workload: Workload, seed: int, expected: NDArray[Any], found: NDArray[Any], clean: bool
) -> CheckReport:
    tolerance = TOLERANCE[str(expected.dtype)]
    scale = max(float(np.abs(expected).max()), 1e-30)
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    error = float(difference.max()) / scale
    problem = "" if clean else "writes outside its output"
    if not error <= tolerance:  # also when it is not a number
        where = np.unravel_index(int(np.nanargmax(difference)), difference.shape)
        at = ", ".join(map(str, where))
        problem = f"output[{at}] is {found[where]}, expected {expected[where]}"
    return CheckReport(workload.spec, seed, error, tolerance, problem)
