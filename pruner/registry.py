"""Which rules there are: one file a rule in :mod:`pruner.rules`, plus users' packages and files.

An installed package adds rules by an entry point of the group ``prunelab.rules`` that names a
module; a rule set takes them by name, ``default+my-rule``.

A rule is found by its shape, not by registration: a frozen dataclass, defined in the module, with a
``name``, a ``stage`` and a ``check``.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pruner.rule import RuleError
from pruner.spec import parse_rule

GROUP = "prunelab.rules"  # entry points of installed packages
_STAGES = {"task": ("backends", "hard", "joint"), "trial": ("backends", "hard")}  # what they need


@dataclass(frozen=True)
class Registry:
    """Rule classes by name, and the file that owns each."""

    classes: Mapping[str, type[Any]]
    owners: Mapping[str, str]

    def parse(self, spec: str) -> Any:
        """A rule from its printed form; ``RuleError`` is one line."""
        return parse_rule(spec, self.classes)

    def with_file(self, path: str | Path) -> Registry:
        """A registry that has the rules of a user's ``.py`` file, too.

        Raises
        ------
        RuleError
            The file cannot be read, raises, holds no rule, or a name is taken (naming both).
        """
        module = _import_file(Path(path))
        found = rules_in(module)
        if not found:
            raise RuleError(
                f"{path}: no rule found; expected a frozen dataclass with name, stage and check"
            )
        return self._with({name: (cls, str(path)) for name, cls in found.items()})

    def _with(self, found: Mapping[str, tuple[type[Any], str]]) -> Registry:
        classes, owners = dict(self.classes), dict(self.owners)
        for name, (cls, owner) in found.items():
            if name in classes:
                raise RuleError(f"rule {name!r} is defined twice: in {owners[name]} and in {owner}")
            classes[name], owners[name] = cls, owner
        return Registry(classes, owners)


@cache
def builtin() -> Registry:
    """The rules that ship, one file each."""
    package = importlib.import_module("pruner.rules")
    registry = Registry({}, {})
    for info in pkgutil.iter_modules(package.__path__):
        if not info.name.startswith("_"):
            module = importlib.import_module(f"pruner.rules.{info.name}")
            owner = module.__name__
            registry = registry._with({n: (c, owner) for n, c in rules_in(module).items()})
    return registry


def installed() -> Registry:
    """The rules that ship, and those of installed packages.

    Raises
    ------
    RuleError
        An entry point that cannot be loaded or holds no rule, or a name is taken (naming both).
    """
    registry = builtin()
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        owner = f"entry point {point.name} = {point.value}"
        try:
            found = rules_in(point.load())
        except (Exception, SystemExit) as error:  # whatever a package may raise
            raise RuleError(f"{owner}: {type(error).__name__}: {error}") from None
        if not found:
            raise RuleError(f"{owner}: no rule found; expected a module with rules")
        registry = registry._with({name: (cls, owner) for name, cls in found.items()})
    return registry


def load_rules(paths: Iterable[str | Path] = ()) -> Registry:
    """The shipped and installed rules and those of users' files."""
    registry = installed()
    for path in paths:
        registry = registry.with_file(path)
    return registry


def rules_in(module: ModuleType) -> dict[str, type[Any]]:
    """The rule classes that a module defines, by name, in the order of their definition."""
    found: dict[str, type[Any]] = {}
    for cls in vars(module).values():
        if isinstance(cls, type) and cls.__module__ == module.__name__ and _is_rule(cls):
            name: str = vars(cls)["name"]
            if name in found:
                raise RuleError(f"rule {name!r} is defined twice in {module.__name__}")
            for needed in _STAGES[vars(cls)["stage"]]:
                if needed not in (*dir(cls), *(f.name for f in fields(cls))):
                    raise RuleError(f"{module.__file__}: rule {name!r} has no {needed!r}")
            found[name] = cls
    return found


def _is_rule(cls: type[Any]) -> bool:
    own = vars(cls)
    return (
        is_dataclass(cls)
        and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        and isinstance(own.get("name"), str)
        and own.get("stage") in _STAGES
        and callable(getattr(cls, "check", None))
    )


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise RuleError(f"{path}: no such rules file")
    name = "_user_rules_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuleError(f"{path}: expected a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise RuleError(f"{path}: {type(error).__name__}: {error}") from None
    return module
