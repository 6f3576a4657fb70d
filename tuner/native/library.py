"""The C++ engine: built on demand, kept in the user's cache, loaded once."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "src"
# No fused multiply-add: it rounds once where numpy rounds twice.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off")
_LIBRARY = "prunelab_native.so"


class NativeError(Exception):
    """Why there is no C++ engine; one line."""


@cache
def library() -> Any:
    """The functions of the engine by name, ``library()("LoadPruner")``.

    Raises
    ------
    NativeError
        No compiler, no ninja, no FFI, or a build that fails.  The numpy engine serves then.
    """
    try:
        import tvm_ffi
    except ImportError as error:
        raise NativeError(f"apache-tvm-ffi: {error}") from None
    tvm_ffi.load_module(str(built()))
    return lambda name: tvm_ffi.get_global_func(f"prunelab.{name}")


def built() -> Path:
    """The shared library; compiles it where the cache has none of these sources and versions."""
    kept = cache_dir() / key() / _LIBRARY
    if not kept.exists():
        if lacking := missing():
            raise NativeError(f"{' and '.join(lacking)} not found")
        _build(kept)
    return kept


def ready() -> bool:
    """Whether the library is in the cache."""
    return (cache_dir() / key() / _LIBRARY).exists()


def missing() -> list[str]:
    """What a build needs and does not find."""
    return [name for name in (compiler(), "ninja") if shutil.which(name) is None]


def compiler() -> str:
    """The C++ compiler that a build asks for."""
    return os.environ.get("CXX", "c++")


def cache_dir() -> Path:
    """``$XDG_CACHE_HOME/prunelab/native``, by default under ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "prunelab" / "native"


def key() -> str:
    """16 hex digits of all that a build depends on: sources, flags, FFI, compiler, processor."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    parts = (*FLAGS, metadata.version("apache-tvm-ffi"), compiler(), _processor())
    digest.update("\0".join(parts).encode())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What ``-march=native`` depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return "\n".join(
        sorted({x for x in lines if x.startswith(("flags", "Features", "model name"))})
    )


def _build(target: Path) -> None:
    """Build aside, then move: two processes that build at once do not see half a library."""
    from tvm_ffi.cpp import build

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as aside:
            made = build(
                "prunelab_native",
                sources=[str(SOURCES / "engine.cc")],
                extra_cflags=list(FLAGS),
                build_directory=aside,
            )
            Path(made).replace(target)
    except Exception as error:  # a compiler may fail in any way
        raise NativeError(f"build failed: {_first_error(str(error))}") from None


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line.lower()] or text.splitlines()
    return " ".join(lines[0].split()) if lines else "no message"
