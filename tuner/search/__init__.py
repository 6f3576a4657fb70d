"""Search strategies: one interface, one file each."""

from tuner.search.evolutionary import Evolutionary
from tuner.search.random import RandomSearch
from tuner.search.space import Choice, Pool, SketchSpace
from tuner.search.strategy import SCREENED, SCREENED_BY_REPLAY, Score, Strategy

STRATEGIES: dict[str, type[Evolutionary] | type[RandomSearch]] = {
    s.name: s for s in (Evolutionary, RandomSearch)
}

__all__ = [
    "SCREENED",
    "SCREENED_BY_REPLAY",
    "STRATEGIES",
    "Choice",
    "Evolutionary",
    "Pool",
    "RandomSearch",
    "Score",
    "SketchSpace",
    "Strategy",
]
