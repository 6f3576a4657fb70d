"""A trained model and its file: plain arrays and a JSON header in an ``.npz``, no pickle.

A file may come from anybody: its header is typed, every array has to have the name, the shape and
the type that the header's sizes ask for, and all numbers have to be finite.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from pruner.meta.graph import CHIP_FEATURES, NODE_FEATURES, WHOLE_FEATURES, Graph
from pruner.meta.network import Weights, forward, shapes

FORMAT = "1.0.0"
SHIPPED = Path(__file__).parent / "data" / "prior.npz"
WORSE = 1.1  # the label: slower than the current best by more than a tenth, or failing

Size = Annotated[int, msgspec.Meta(ge=1, le=512)]


class ModelError(ValueError):
    """A model file that cannot be used; the message is one line for the user."""


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model is and where it comes from.

    ``slope`` and ``offset``: P(more than 10 % slower than the best) is the logistic function of
    ``slope * (score - score of the best) + offset``.  ``tasks`` are the ``workload @ chip`` that it
    was trained on, ``history_hash`` stands for their candidates and latencies, ``made_with`` is the
    command.
    """

    format: str
    version: str
    hidden: Size
    layers: Annotated[int, msgspec.Meta(ge=1, le=8)]
    head: Size
    slope: float
    offset: float
    worse: float
    features_hash: str
    tasks: list[str]
    candidates: int
    history_hash: str
    made_with: str


@dataclass(frozen=True)
class MetaModel:
    """A trained network; ``hash`` is over the header and every weight."""

    header: Header
    weights: Weights
    hash: str

    @classmethod
    def of(cls, header: Header, weights: Weights) -> MetaModel:
        """A model with its hash."""
        digest = hashlib.sha256(msgspec.json.encode(header))
        for name in sorted(weights):
            digest.update(name.encode() + np.ascontiguousarray(weights[name], "<f4").tobytes())
        return cls(header, weights, digest.hexdigest()[:16])

    def score(self, graph: Graph) -> NDArray[np.float64]:
        """``(n,)`` log latency in us as the network sees it, good up to a constant of the task."""
        return forward(self.weights, self.header.layers, graph)

    def worse_than(self, score: NDArray[np.float64], best: float) -> NDArray[np.float64]:
        """``(n,)`` probabilities of being more than 10 % slower than a best with score ``best``."""
        z = self.header.slope * (score - best) + self.header.offset
        return np.asarray(1 / (1 + np.exp(-np.clip(z, -40, 40))))

    def save(self, path: Path) -> None:
        """Write the model; the same model gives the same bytes."""
        head = np.frombuffer(msgspec.json.encode(self.header), np.uint8)
        arrays: dict[str, Any] = dict(sorted(self.weights.items()))
        np.savez(path, header=head, **arrays)


def features_hash() -> str:
    """Stands for names and order of all features: a model is good for no others."""
    names = msgspec.json.encode([NODE_FEATURES, WHOLE_FEATURES, CHIP_FEATURES])
    return hashlib.sha256(names).hexdigest()[:16]


@cache
def shipped() -> MetaModel:
    """The model that comes with the package."""
    return load(SHIPPED)


def load(path: Path) -> MetaModel:
    """Read a model.

    Raises
    ------
    ModelError
        No such file, not a model, of another format or other features, or damaged.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header = msgspec.json.decode(file["header"].tobytes(), type=Header)
            _check_header(header)
            wanted = shapes(header.hidden, header.layers, header.head)
            weights = {name: _weight(file, name, shape) for name, shape in wanted.items()}
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}") from None
    except (ValueError, KeyError, BadZipFile, EOFError) as error:
        line = str(error).strip("'\"") or type(error).__name__
        raise ModelError(f"{path}: not a usable model: {line}") from None
    return MetaModel.of(header, weights)


def _check_header(header: Header) -> None:
    if header.format.split(".")[0] != FORMAT.split(".")[0]:
        raise ValueError(f"format {header.format}, expected {FORMAT}")
    if header.features_hash != features_hash():
        raise ValueError(f"made for other features ({header.features_hash}): train it anew")


def _weight(file: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
    found = np.asarray(file[name])
    if found.shape != shape or found.dtype != np.float32:
        raise ValueError(f"{name} is {found.dtype} {found.shape}, expected float32 {shape}")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} is not finite")
    return found
