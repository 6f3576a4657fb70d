"""Workloads from a user's Python file that holds a TIR function."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tuner.workloads.workload import Workload, WorkloadError


def load_function(spec: str, path: str, function: str | None) -> Workload:
    """The TIR function of ``path``.

    ``function`` names a PrimFunc, an IRModule with one PrimFunc, or a callable without arguments
    that returns either; without it the file must hold exactly one PrimFunc or IRModule.

    Raises
    ------
    WorkloadError
        The file is missing or raises, holds no such function, or has symbolic shapes.
    """
    try:
        module = _execute(Path(path))
        name, found = _pick(module, function)
        return workload_of(f"{path}:{name}", _as_prim_func(name, found))
    except WorkloadError as error:
        raise WorkloadError(f"workload {spec!r}: {error}") from None


def workload_of(spec: str, function: Any, tags: tuple[str, ...] = ("source",)) -> Workload:
    """A TIR ``PrimFunc`` as a workload whose name is ``spec``, ``FILE:FUNCTION``.

    Raises
    ------
    WorkloadError
        It has no buffers, shapes that are no positive constants, or loops that nothing enters.
    """
    body = function.with_attr("global_symbol", "main")
    flops, dtype = _describe(spec.rpartition(":")[2], body)
    return Workload(
        name=spec,
        spec=spec,
        kind="source",
        shapes=(),
        dtype=dtype,
        flops=flops,
        tags=tags,
        build=lambda: body,
    )


def _execute(path: Path) -> ModuleType:
    if not path.is_file():
        raise WorkloadError(f"no file {str(path)!r}")
    name = f"prunelab_workload_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None  # a .py path always has a source loader
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # TVMScript looks its decorated class up in sys.modules
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise WorkloadError(f"the file raises {_one_line(error)}") from None
    finally:
        del sys.modules[name]
    return module


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


def _pick(module: ModuleType, function: str | None) -> tuple[str, Any]:
    from tvm.ir import IRModule
    from tvm.tirx import PrimFunc

    held = {k: v for k, v in vars(module).items() if isinstance(v, PrimFunc | IRModule)}
    if function is not None:
        if not hasattr(module, function):
            raise WorkloadError(f"no function {function!r}; the file has {_list(held)}")
        return function, getattr(module, function)
    if len(held) != 1:
        raise WorkloadError(
            f"expected one PrimFunc, the file has {_list(held)}; name one after ':'"
        )
    return next(iter(held.items()))


def _list(held: dict[str, Any]) -> str:
    return ", ".join(sorted(held)) or "none"


def _as_prim_func(name: str, found: Any) -> Any:
    from tvm.ir import IRModule
    from tvm.tirx import PrimFunc

    if callable(found) and not isinstance(found, PrimFunc | IRModule):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise WorkloadError(f"function {name!r} raises {_one_line(error)}") from None
    if isinstance(found, IRModule):
        functions = [f for f in found.functions.values() if isinstance(f, PrimFunc)]
        if len(functions) != 1:
            raise WorkloadError(f"module {name!r} has {len(functions)} PrimFuncs, expected one")
        found = functions[0]
    if not isinstance(found, PrimFunc):
        raise WorkloadError(f"{name!r} is a {type(found).__name__}, expected a TIR PrimFunc")
    return found


def _describe(name: str, body: Any) -> tuple[float, str]:
    """``(flops, dtype of the first buffer)``; refuses what no design space can schedule."""
    from tvm import IRModule
    from tvm.s_tir.analysis import estimate_tir_flops
    from tvm.tirx import IntImm

    buffers = [p for p in body.params if hasattr(p, "shape")]  # a buffer is its own parameter
    if not buffers:
        raise WorkloadError(f"{name!r} has no buffer arguments")
    for buffer in buffers:
        if not all(isinstance(extent, IntImm) for extent in buffer.shape):
            raise WorkloadError(f"buffer {buffer.name!r} has a symbolic shape, expected constants")
        if any(int(extent) <= 0 for extent in buffer.shape):
            raise WorkloadError(f"buffer {buffer.name!r} has an extent that is not positive")
    for loop in _loops(body):
        if isinstance(loop.extent, IntImm) and int(loop.extent) <= 0:
            raise WorkloadError(f"loop {loop.loop_var.name!r} has extent 0: nothing to schedule")
    return float(estimate_tir_flops(IRModule({"main": body}))), str(buffers[0].dtype)


def _loops(body: Any) -> list[Any]:
    import tvm_ffi
    from tvm.tirx import For

    found: list[Any] = []

    def seen(loop: Any) -> Any:
        found.append(loop)
        return loop

    tvm_ffi.structural_map(body.body, (For, seen))
    return found
