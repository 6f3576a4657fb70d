"""The second road to a kernel table: a sketch evaluated over a whole matrix of decisions."""

from tuner.columns.program import Unsupported
from tuner.columns.road import ColumnRoad, column_road, differing

__all__ = ["ColumnRoad", "Unsupported", "column_road", "differing"]
