"""TVM's own ``tune_tir`` with the pruner in it; ``from tuner import tune_tir`` is the short way.

Importing this package imports TVM.
"""

from tuner.dropin.callback import CALLBACK, register_callback
from tuner.dropin.error import TuneError, TuneWarning
from tuner.dropin.postproc import PrunePostproc
from tuner.dropin.screen import Screen
from tuner.dropin.tune import tune_tir

__all__ = [
    "CALLBACK",
    "PrunePostproc",
    "Screen",
    "TuneError",
    "TuneWarning",
    "register_callback",
    "tune_tir",
]
