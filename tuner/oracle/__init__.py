"""Oracles: spaces small enough to be measured whole, the truth that regret is computed against.

>>> from tuner.oracle import catalogue, load
>>> oracle = load(catalogue()["mlu-conv"])        # doctest: +SKIP
>>> oracle.optimum_us, oracle.index_of(pool)      # doctest: +SKIP

Names are loaded on first use: the catalogue needs no TVM.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.oracle.lookup import find, is_small, load
    from tuner.oracle.measured import Oracle
    from tuner.oracle.measuring import measure, survey
    from tuner.oracle.recipes import OracleError, Recipe, catalogue, recipe_named
    from tuner.oracle.spaces import problem_of

_MODULES = {
    "Oracle": "measured",
    "OracleError": "recipes",
    "Recipe": "recipes",
    "catalogue": "recipes",
    "find": "lookup",
    "is_small": "lookup",
    "load": "lookup",
    "measure": "measuring",
    "problem_of": "spaces",
    "recipe_named": "recipes",
    "survey": "measuring",
}

__all__ = [
    "Oracle", "OracleError", "Recipe", "catalogue", "find", "is_small", "load", "measure",
    "problem_of", "recipe_named", "survey",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tuner.oracle' has no attribute {name!r}")
    return getattr(import_module(f"tuner.oracle.{_MODULES[name]}"), name)
