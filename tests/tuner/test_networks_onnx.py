"""ONNX files as networks; skipped where the extra is not installed."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the extra onnx: pip install 'prunelab[onnx]'")

from tuner.networks import NetworkError, resolve_network  # noqa: E402
from tuner.workloads import WorkloadError, resolve  # noqa: E402


def save(path, nodes, weights, shape, out):
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    rng = np.random.default_rng(0)
    arrays = [
        onnx.numpy_helper.from_array(rng.normal(size=s).astype("float32"), name)
        for name, s in weights.items()
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", kind, out)],
        arrays,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path)
    return str(path)


@pytest.fixture(scope="module")
def twin_convolutions(tmp_path_factory):
    """Two equal convolutions with bias and ReLU, a view, a dense layer with softmax."""
    node = onnx.helper.make_node
    nodes, at = [], "x"
    for i in (1, 2):
        conv = {"kernel_shape": [3, 3], "pads": [1] * 4}
        nodes += [
            node("Conv", [at, f"w{i}", f"b{i}"], [f"c{i}"], **conv),
            node("Relu", [f"c{i}"], [f"r{i}"]),
        ]
        at = f"r{i}"
    nodes += [node("Flatten", [at], ["f"]), node("Gemm", ["f", "w", "b"], ["y"])]
    weights = {"w1": (8, 8, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "b2": (8,)}
    weights |= {"w": (8 * 36, 10), "b": (10,)}
    path = tmp_path_factory.mktemp("onnx") / "twins.onnx"
    return save(path, nodes, weights, [1, 8, 6, 6], [1, 10])


def test_equal_layers_are_one_task_and_views_are_named(twin_convolutions):
    network = resolve_network(twin_convolutions)
    by_weight = {task.weight: task.workload for task in network.tasks}
    assert sorted(by_weight) == [1, 2]
    # 8 x 6 x 6 outputs of 8 x 9 products each, bias and ReLU beside them.
    assert by_weight[2].flops == pytest.approx(2 * 288 * 72, rel=0.05)
    assert by_weight[1].flops == pytest.approx(2 * 288 * 10, rel=0.05)
    assert [(u.count, u.reason) for u in network.untuned] == [(1, "a reshape: moves no data")]


def test_a_task_is_a_workload_by_name(twin_convolutions):
    for task in resolve_network(twin_convolutions).tasks:
        assert resolve(task.workload.spec) is task.workload
    with pytest.raises(WorkloadError, match="no task 'none', expected one of fused_"):
        resolve(f"{twin_convolutions}:none")


def test_operators_that_tvm_lacks_and_damaged_files_are_one_line(tmp_path):
    nodes = [onnx.helper.make_node("Det", ["x"], ["y"])]
    path = save(tmp_path / "det.onnx", nodes, {}, [4, 4], [])
    with pytest.raises(NetworkError, match=r"TVM does not import it: .*Det"):
        resolve_network(path)
    (tmp_path / "no.onnx").write_bytes(b"no protobuf")
    with pytest.raises(NetworkError, match="does not import it"):
        resolve_network(str(tmp_path / "no.onnx"))


def test_symbolic_shapes_are_untuned_with_the_reason(tmp_path):
    nodes = [onnx.helper.make_node("Relu", ["x"], ["y"])]
    path = save(tmp_path / "any.onnx", nodes, {}, ["n", 4], ["n", 4])
    with pytest.raises(NetworkError, match=r"can be tuned: .*symbolic shape"):
        resolve_network(path)
