"""Specs resolve to programs of the right shape, and every user mistake gets one clear line."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from tuner.workloads import KINDS, WorkloadError, catalogue, resolve

PRIM_FUNC_FILE = """
from tvm import te

def gemm(n=8):
    a = te.placeholder((n, n), name="A")
    return te.create_prim_func([a, te.compute((n, n), lambda i, j: a[j, i] * 2.0, name="B")])

doubled = gemm()
"""


def test_importing_workloads_does_not_import_tvm():
    code = "import sys, tuner.workloads as w; w.catalogue(); sys.exit('tvm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("workload", catalogue(), ids=lambda w: w.name)
def test_catalogue_tensors_match_the_program(workload):
    function = workload.prim_func()
    shapes = [tuple(int(x) for x in p.shape) for p in function.params]
    assert tuple(shapes) == KINDS[workload.kind].tensors(workload.shapes)
    assert resolve(workload.name) == workload
    assert resolve(workload.spec).prim_func().same_as(function)


def test_true_shapes():
    assert resolve("bert-base.s512.qkv").spec == "gemm:512x2304x768:float16"
    assert resolve("resnet50.conv1").spec == "conv2d:1x224x224x3x64x7x7x2x3:float16"
    # 118.0 MMAC: conv1 of ResNet-50 makes a 112x112x64 output from 7x7x3 windows.
    assert resolve("resnet50.conv1").flops == 2 * 112 * 112 * 64 * 7 * 7 * 3


def test_dtype_suffix_and_accumulators():
    workload = resolve("bert-base.s128.qkv:int8")
    function = workload.prim_func()
    assert workload.name == "bert-base.s128.qkv:int8"
    assert [p.dtype for p in function.params] == ["int8", "int8", "int32"]


@pytest.mark.parametrize("spec", ["gemm:7x13x11:float16", "gemm:1x1x1:int8", "add:1x1:float32"])
def test_prime_and_unit_dimensions_are_legal(spec):
    assert resolve(spec).prim_func() is not None


def test_workloads_pickle():
    workload = resolve("softmax:4x8:float32")
    assert pickle.loads(pickle.dumps(workload)) == workload


def test_reference_convolution_against_direct_sum():
    kind = KINDS["conv2d"]
    dims = (1, 5, 6, 2, 3, 3, 2, 2, 1)
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=s) for s in kind.tensors(dims)[:2])
    y = kind.reference((x, w), dims, "float32")
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i, j in np.ndindex(y.shape[1:3]):
        window = padded[0, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        expected = np.einsum("hwc,hwco->o", window, w)
        np.testing.assert_allclose(y[0, i, j], expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gem:1x1x1", "unknown name 'gem'; did you mean 'gemm'"),
        ("resnet50.c9", "did you mean"),
        ("", "unknown name ''; expected a catalogue name"),
        ("gemm:1x1x1:float64", "unknown dtype 'float64', expected one of float16"),
        ("softmax:4x4:int8", "softmax has no int8"),
        ("bert-base.s128.softmax:int8", "softmax has no int8"),
        ("gemm:0x4x4", "dimension M='0', expected a positive integer"),
        ("gemm:4x-4x4", "dimension N='-4', expected a positive integer"),
        ("gemm:4x4x4.5", "dimension K='4.5', expected a positive integer"),
        ("gemm:4xax4", "dimension N='a'"),
        ("gemm:4x4", "2 dimensions in '4x4', expected MxNxK"),
        ("gemm", "expected gemm:MxNxK:DTYPE"),
        ("gemm:4x4x4:int8:int8", "expected gemm:MxNxK:DTYPE"),
        ("gemm:99999x99999x1", "more than 2147483647 elements"),
        ("conv2d:1x2x2x1x1x7x7x1x0", "kernel 7x7 is larger than the padded input 2x2"),
        ("conv2d:1x2x2x1x1x1x1x0x0", "dimension S='0'"),
        ("missing.py", "no file 'missing.py'"),
    ],
)
def test_mistakes_are_one_clear_line(spec, message):
    with pytest.raises(WorkloadError, match=r"^workload ") as caught:
        resolve(spec)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def _write(tmp_path, text):
    path = tmp_path / "mine.py"
    path.write_text(text)
    return str(path)


def test_python_file(tmp_path):
    path = _write(tmp_path, PRIM_FUNC_FILE)
    workload = resolve(path)
    assert workload.kind == "source"
    assert workload.spec == f"{path}:doubled"
    assert workload.flops == 64
    assert workload.dtype == "float32"
    assert resolve(f"{path}:gemm").prim_func().attrs["global_symbol"] == "main"


@pytest.mark.parametrize(
    ("text", "function", "message"),
    [
        ("raise RuntimeError('bad luck\\nsecond line')", "", "raises RuntimeError: second line"),
        ("import sys; sys.exit(3)", "", "raises SystemExit: 3"),
        ("def broken(:", "", "raises SyntaxError"),
        ("x = 1", "", "expected one PrimFunc, the file has none"),
        ("x = 1", ":y", "no function 'y'; the file has none"),
        ("x = 1", ":x", "'x' is a int, expected a TIR PrimFunc"),
        ("def f(): raise KeyError('k')", ":f", "function 'f' raises KeyError"),
        ("def f(): return 3", ":f", "'f' is a int, expected a TIR PrimFunc"),
        (PRIM_FUNC_FILE + "again = gemm(4)", "", "the file has again, doubled; name one after"),
    ],
)
def test_bad_python_files(tmp_path, text, function, message):
    with pytest.raises(WorkloadError) as caught:
        resolve(_write(tmp_path, text) + function)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
