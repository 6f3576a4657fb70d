"""The second road to a kernel table: a sketch evaluated over a whole matrix of decisions."""

from tuner.columns.located import LocatedRoad, located_road
from tuner.columns.program import Unsupported
from tuner.columns.road import ColumnRoad, column_road, differing

__all__ = [
    "ColumnRoad",
    "LocatedRoad",
    "Unsupported",
    "column_road",
    "differing",
    "located_road",
]
