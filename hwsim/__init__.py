"""Simulated chips: ``hwsim.simulate(table, hwsim.load_chip("ascend-910b1"))``.

Names are loaded on first use, so that ``import hwsim`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hwsim.backends import simulate
    from hwsim.chips import chip_names, load_chip
    from hwsim.table import KernelTable

__all__ = ["KernelTable", "chip_names", "load_chip", "simulate"]

_MODULES = {"simulate": "backends", "chip_names": "chips", "load_chip": "chips"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hwsim' has no attribute {name!r}")
    return getattr(import_module(f"hwsim.{_MODULES.get(name, 'table')}"), name)
