"""Finding and loading chips: ``load_chip("ascend-910b1")`` or ``load_chip("my-chip.toml")``.

The format is described in :mod:`hwsim.chip`.  The struct that a file is held against is the
``CHIP`` of ``hwsim.<backend>.chip``; shipped files lie in ``hwsim/<backend>/chips``.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from hwsim.checked import convert
from hwsim.chip import Chip, ChipError, Fact
from hwsim.columns import BACKENDS

_PACKAGE = Path(__file__).parent


def chip_names() -> list[str]:
    """Names of all shipped chips, sorted."""
    return sorted(_shipped())


def load_chip(name_or_path: str | Path) -> Chip:
    """A shipped chip by name, or a chip file by path (anything with a ``/`` or in ``.toml``).

    Raises
    ------
    ChipError
        No such chip or file, or a file that :func:`load_file` refuses.
    """
    name = str(name_or_path)
    if name.endswith(".toml") or "/" in name or isinstance(name_or_path, Path):
        return load_file(Path(name_or_path))
    shipped = _shipped()
    if name not in shipped:
        near = difflib.get_close_matches(name, shipped, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ChipError(f"chip {name!r}: unknown; {hint}known: {', '.join(sorted(shipped))}")
    return load_file(shipped[name])


def load_file(path: str | Path) -> Chip:
    """Load and check one chip file.

    Raises
    ------
    ChipError
        One line with the file, the field's path (``$.ub_kib``) and what was expected.
    """
    try:
        return _chip_of(_read(Path(path)))
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else " ".join(str(error).split())
        raise ChipError(f"{path}: {reason}") from None


def chip_hash(chip: Chip) -> str:
    """First 16 hex digits of the SHA-256 of the chip's values as canonical JSON.

    Sources and marks are left out: rewording one does not change what a chip computes.
    """
    return _hash_without(chip, {"provenance"})


def silicon_hash(chip: Chip) -> str:
    """As :func:`chip_hash`, without what no noise-free latency depends on: the cost of a trial, the
    noise and the rules' tables.
    """
    return _hash_without(chip, {"provenance", "bench", "noise", "rules"})


def _hash_without(chip: Chip, left_out: set[str]) -> str:
    values = {k: v for k, v in msgspec.to_builtins(chip).items() if k not in left_out}
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()[:16]


def _shipped() -> dict[str, Path]:
    folders = [_PACKAGE / backend / "chips" for backend in BACKENDS]
    return {path.stem: path for folder in folders for path in folder.glob("*.toml")}


def _read(path: Path) -> dict[str, Any]:
    raw = msgspec.toml.decode(path.read_bytes())
    if not isinstance(raw, dict):
        raise ChipError("expected a TOML table")
    return raw


def _chip_of(raw: dict[str, Any]) -> Chip:
    if "provenance" in raw:
        raise ChipError("unknown field `$.provenance`: sources stand beside their values")
    backend = raw.get("backend")
    if backend not in BACKENDS:
        raise ChipError(f"`$.backend` is {backend!r}, expected one of {', '.join(BACKENDS)}")
    facts: dict[str, Fact] = {}
    values = _split(raw, "$", facts)
    module = import_module(f"hwsim.{backend}.chip")
    if hasattr(module, "complete"):  # a real chip: what the file leaves to the machine
        module.complete(values, facts)
    chip: Chip = convert(values, module.CHIP, "$")
    return msgspec.structs.replace(chip, provenance=facts)


def _split(node: Any, path: str, facts: dict[str, Fact]) -> Any:
    """Plain value of ``node``; the sources on the way go to ``facts`` by path (without ``$.``)."""
    if isinstance(node, dict) and "value" in node:
        fact = {k: v for k, v in node.items() if k != "value"}
        facts[path[2:]] = convert(fact, Fact, path)
        _check_finite(node["value"], path)
        return node["value"]
    if isinstance(node, dict):
        return {key: _split(child, f"{path}.{key}", facts) for key, child in node.items()}
    if isinstance(node, list | int | float) and not isinstance(node, bool):
        raise ChipError(
            f"`{path}` has no source: expected {{ value = .., mark = .., source = .. }}"
        )
    return node


def _check_finite(value: Any, path: str) -> None:
    if isinstance(value, list | dict):
        for child in value.values() if isinstance(value, dict) else value:
            _check_finite(child, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ChipError(f"`{path}` is {value}, expected a finite number")
