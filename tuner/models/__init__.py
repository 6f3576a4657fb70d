"""Cost models: one protocol, one file each.

A model is made from a chip, a seed, and whether the run's pruner has a draft for it to correct.
"""

from __future__ import annotations

from collections.abc import Callable

from hwsim.chip import Chip
from tuner.models.learned import Learned
from tuner.models.lightgbm import Trees
from tuner.models.mixed import Mixed
from tuner.models.mlp import Mlp
from tuner.models.model import CostModel
from tuner.models.oracle import OracleModel
from tuner.models.random import RandomModel

DEFAULT_MODEL = "mixed"

MODELS: dict[str, Callable[[Chip, int, bool], CostModel]] = {
    "mixed": lambda chip, seed, drafted: Learned(chip, Mixed(seed), drafted),
    "lightgbm": lambda chip, seed, drafted: Learned(chip, Trees(seed), drafted),
    "mlp": lambda chip, seed, drafted: Learned(chip, Mlp(seed), drafted),
    "random": lambda chip, seed, drafted: RandomModel(seed),
    "oracle": lambda chip, seed, drafted: OracleModel(chip),
}

__all__ = ["DEFAULT_MODEL", "MODELS", "CostModel"]
