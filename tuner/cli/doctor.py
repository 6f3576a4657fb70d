"""``prunelab doctor``: whether this machine is ready, and what the missing extras cost."""

from __future__ import annotations

import importlib.util
import platform
import sys
from dataclasses import asdict, dataclass
from importlib import metadata

import typer

from tuner.cli.options import Format, FormatOption, print_json

TVM, FFI = "0.27.0.post1", "0.1.14.post1"
EXTRAS = {
    "xgboost": ("tvm-search", "the arm `tvm` (TVM's own cost model)"),
    "torch_geometric": ("meta", "pre-training a graph network (using one needs nothing)"),
    "tornado": ("rpc", "real hardware over TVM RPC"),
}


@dataclass(frozen=True)
class Check:
    """One line of the doctor: ``ok``, ``missing`` (optional) or ``broken``."""

    name: str
    state: str
    detail: str


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(fmt: FormatOption = Format.table) -> int:
    """Check the installation; exit code 1 where something needed is broken."""
    checks = [_python(), _pinned("apache-tvm", TVM), _pinned("apache-tvm-ffi", FFI), _tvm()]
    checks += [_extra(module, *what) for module, what in EXTRAS.items()]
    checks += [_native(), _recorded()]
    if fmt is Format.json:
        print_json([asdict(c) for c in checks])
    else:
        from tuner.cli.tables import show

        show(("check", "state", "detail"), [(c.name, c.state, c.detail) for c in checks])
    return int(any(c.state == "broken" for c in checks))


def _python() -> Check:
    fine = (3, 10) <= sys.version_info[:2] <= (3, 12)
    detail = f"{platform.python_version()}, TVM has wheels for 3.10 to 3.12"
    return Check("python", "ok" if fine else "broken", detail)


def _pinned(package: str, wanted: str) -> Check:
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        return Check(package, "broken", f"not installed, expected {wanted}")
    if found != wanted:
        return Check(package, "broken", f"{found}, expected {wanted}: other pairs segfault")
    return Check(package, "ok", found)


def _tvm() -> Check:
    try:
        from tvm.target import Target

        Target({"kind": "llvm", "num-cores": 2})
    except Exception as error:  # whatever a broken native library raises
        return Check("tvm works", "broken", f"{type(error).__name__}: {error}")
    return Check("tvm works", "ok", "imports, and the LLVM target is there for numerical checks")


def _native() -> Check:
    """Whether there is a C++ engine, or could be; nothing is built for it."""
    from tuner.native.library import missing, ready

    if ready():
        return Check("native engine", "ok", "built; rules, features and trees run in C++")
    if lacking := missing():
        detail = f"{' and '.join(lacking)} not found: the numpy engine serves"
        return Check("native engine", "missing", detail)
    return Check("native engine", "ok", "a compiler is there; `make native` builds it")


def _recorded() -> Check:
    """Which of the shipped rules the C++ engine leaves to numpy."""
    from tuner.native.coverage import left_to_numpy

    left = left_to_numpy()
    text = "; ".join(f"{rule}: {reason}" for rule, reason in left.items()) or "none"
    return Check("native rules", "ok", f"left to numpy: {text}")


def _extra(module: str, extra: str, use: str) -> Check:
    if importlib.util.find_spec(module) is not None:
        return Check(f"extra {extra}", "ok", use)
    return Check(f"extra {extra}", "missing", f"pip install 'prunelab[{extra}]' for {use}")
