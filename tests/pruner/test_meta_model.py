"""The network in numpy and the model's file: what may come from anybody is refused in one line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from pruner.meta.graph import RELATIONS
from pruner.meta.model import SHIPPED, WORSE, ModelError, load, shipped

from .meta_graphs import header, random_graph, random_model


def test_a_score_depends_on_its_candidate_alone() -> None:
    model, graph = random_model(), random_graph(9)
    together = model.score(graph)
    assert len(set(together.round(6))) == 9
    for i in range(9):
        alone = model.score(graph.take(np.array([i])))
        np.testing.assert_allclose(alone, together[[i]], rtol=1e-5)


def test_the_numbering_of_nodes_does_not_matter() -> None:
    model, graph = random_model(), random_graph(4)
    order = np.random.default_rng(1).permutation(graph.nodes["loop"].shape[1])
    place = np.argsort(order)  # node i is now number place[i]
    edges = {}
    for name, source, target in RELATIONS:
        ends = graph.edges[name].copy()
        for row, kind in enumerate((source, target)):
            ends[row] = place[ends[row]] if kind == "loop" else ends[row]
        edges[name] = ends
    nodes: Any = {**graph.nodes, "loop": graph.nodes["loop"][:, order]}
    renumbered = replace(graph, nodes=nodes, edges=edges)
    np.testing.assert_allclose(model.score(renumbered), model.score(graph), rtol=1e-5)


def test_every_relation_carries_a_message() -> None:
    model, graph = random_model(), random_graph(3)
    for name, *_ in RELATIONS:
        cut = replace(graph, edges={**graph.edges, name: np.zeros((2, 0), np.int64)})
        assert not np.allclose(model.score(cut), model.score(graph)), name


def test_what_scores_higher_is_likelier_worse() -> None:
    model = random_model()
    worse = model.worse_than(np.array([0.0, 0.1, 1.0, 50.0]), 0.0)
    assert np.all(np.diff(worse) > 0)
    assert worse[0] < 0.5 < worse[2]


def test_a_model_comes_back_as_it_was_and_in_the_same_bytes(tmp_path: Path) -> None:
    model = random_model()
    model.save(tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    again.save(tmp_path / "b.npz")
    assert again.hash == model.hash != random_model(1).hash
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    np.testing.assert_array_equal(again.score(random_graph(5)), model.score(random_graph(5)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score.bias": np.zeros(2, np.float32)}, r"score.bias is float32 \(2,\), expected"),
        ({"score.bias": np.zeros(1)}, "score.bias is float64"),
        ({"score.bias": np.array([np.nan], np.float32)}, "score.bias is not finite"),
        ({"score.bias": np.array([{}], dtype=object)}, "not a usable model.*allow_pickle"),
        ({"header": np.frombuffer(b'{"format": 1}', np.uint8)}, "not a usable model.*format"),
        ({"header": None}, "not a usable model.*header"),
    ],
)
def test_a_damaged_model_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    model = random_model()
    head = np.frombuffer(msgspec.json.encode(model.header), np.uint8)
    arrays = {**model.weights, "header": head, **change}
    np.savez(tmp_path / "m.npz", **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(ModelError, match=words):
        load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"format": "2.0.0"}, "format 2.0.0, expected 1.0.0"),
        ({"features_hash": "f00"}, "made for other features"),
        ({"hidden": 100_000}, "hidden"),
    ],
)
def test_a_model_of_another_kind_is_refused(
    tmp_path: Path, others: dict[str, Any], words: str
) -> None:
    model = random_model()
    replace(model, header=header(**others)).save(tmp_path / "m.npz")
    with pytest.raises(ModelError, match=words):
        load(tmp_path / "m.npz")


def test_what_is_no_model_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.npz").write_text("hello")
    with pytest.raises(ModelError, match="not a usable model"):
        load(tmp_path / "m.npz")
    with pytest.raises(ModelError, match="No such file"):
        load(tmp_path / "none.npz")


def test_the_shipped_model_is_small_and_says_where_it_comes_from() -> None:
    model = shipped()
    assert SHIPPED.stat().st_size < 500_000
    assert model.header.worse == WORSE
    assert model.header.made_with.startswith("prunelab meta pretrain")
    assert len(model.header.tasks) >= 50
    assert len({task.split(" @ ")[1] for task in model.header.tasks}) >= 3
    assert model.header.slope > 0
