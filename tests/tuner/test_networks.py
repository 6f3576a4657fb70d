"""Networks as weighted workloads: against the published operation counts."""

import subprocess
import sys

import pytest

from tuner.networks import NETWORKS, NetworkError, resolve_network


@pytest.mark.parametrize(
    ("name", "layers", "gmacs"),
    [
        # torchvision states 4.09 GFLOPS (multiply-accumulates) for its resnet50: convolutions and
        # the dense layer, 53 + 1; two poolings beside them.
        ("resnet50:float16", 56, 4.09),
        ("resnet50:int8", 56, 4.09),
        # 12 (12 h^2 s + 2 s^2 h) for h = 768, s = 128, after the shapes of the paper.
        ("bert-base", 3 + 12 * 11 + 1, 12 * (12 * 768**2 * 128 + 2 * 128**2 * 768) / 1e9),
    ],
)
def test_layers_and_operations(name, layers, gmacs):
    network = resolve_network(name)
    assert sum(task.weight for task in network.tasks) == layers
    assert network.flops / 2e9 == pytest.approx(gmacs, rel=0.005)


def test_tasks_are_distinct():
    for name in NETWORKS:
        specs = [task.workload.spec for task in resolve_network(name).tasks]
        assert len(set(specs)) == len(specs)


def test_a_dtype_changes_nothing_but_the_dtype():
    half, byte = (resolve_network(f"resnet50:{d}") for d in ("float16", "int8"))
    assert [(t.workload.shapes, t.weight) for t in half.tasks] == [
        (t.workload.shapes, t.weight) for t in byte.tasks
    ]
    assert {t.workload.dtype for t in byte.tasks} == {"int8"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("resnet51", "expected one of resnet50, bert-base"),
        ("bert-base:int8", "has no 'int8', expected float16, float32"),
        ("none.onnx", "no file"),
    ],
)
def test_mistakes_are_named(given, said):
    with pytest.raises(NetworkError, match=said):
        resolve_network(given)


def test_listing_networks_needs_no_tvm():
    code = (
        "import sys; from tuner.networks import resolve_network as r; r('resnet50');"
        " sys.exit('tvm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
