"""Cost models: one protocol, one file each; a model is made from a chip and a seed."""

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

MODELS: dict[str, Callable[[Chip, int], CostModel]] = {
    "mixed": lambda chip, seed: Learned(chip, Mixed(seed)),
    "lightgbm": lambda chip, seed: Learned(chip, Trees(seed)),
    "mlp": lambda chip, seed: Learned(chip, Mlp(seed)),
    "random": lambda chip, seed: RandomModel(seed),
    "oracle": lambda chip, seed: OracleModel(chip),
}

__all__ = ["DEFAULT_MODEL", "MODELS", "CostModel"]
