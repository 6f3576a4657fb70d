"""Search strategies: one interface, one file each."""

from tuner.search.beginning import Beginning
from tuner.search.combined import Combined
from tuner.search.evolutionary import Evolutionary
from tuner.search.exhaustive import Exhaustive
from tuner.search.grid import Grid
from tuner.search.mcts import Mcts
from tuner.search.numbering import Numbering, Ranks
from tuner.search.random import RandomSearch
from tuner.search.space import Choice, Pool, SketchSpace
from tuner.search.strategy import SCREENED, SCREENED_BY_REPLAY, Score, SearchError, Strategy

Kind = (
    type[Evolutionary]
    | type[Mcts]
    | type[Combined]
    | type[RandomSearch]
    | type[Grid]
    | type[Exhaustive]
)
STRATEGIES: dict[str, Kind] = {
    s.name: s for s in (Evolutionary, Mcts, Combined, RandomSearch, Grid, Exhaustive)
}

__all__ = [
    "SCREENED",
    "SCREENED_BY_REPLAY",
    "STRATEGIES",
    "Beginning",
    "Choice",
    "Combined",
    "Evolutionary",
    "Exhaustive",
    "Grid",
    "Mcts",
    "Numbering",
    "Pool",
    "RandomSearch",
    "Ranks",
    "Score",
    "SearchError",
    "SketchSpace",
    "Strategy",
]
