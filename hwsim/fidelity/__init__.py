"""The simulators against published measurements: datasets in, errors and ranks out."""

from hwsim.fidelity.data import MeasuredError
from hwsim.fidelity.report import Entry, measure_folder

__all__ = ["Entry", "MeasuredError", "measure_folder"]
