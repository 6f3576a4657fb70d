"""Programs from users' files: forms beyond the built-in kinds still get right schedules."""

import pytest
from tvm import IRModule
from tvm.s_tir import Schedule, Trace

from hwsim.chips import load_chip
from tuner import spaces
from tuner.check import check_schedule
from tuner.workloads import resolve

HEAD = """
from tvm import te, tirx
A = te.placeholder((32, 48), name="A")
k = te.reduce_axis((0, 48), name="k")
l = te.reduce_axis((0, 32), name="l")
H = te.placeholder((32, 64), name="H", dtype="float16")
W = te.placeholder((64, 48), name="W", dtype="float16")
r = te.reduce_axis((0, 64), name="r")

def product(a=H, b=W):
    return te.compute(
        (32, 48), lambda i, j: te.sum(a[i, r].astype("float32") * b[r, j].astype("float32"), axis=r)
    )
"""
PROGRAMS = {
    "two outputs": """
B = te.compute((32, 48), lambda i, j: A[i, j] * 2.0)
f = te.create_prim_func([A, B, te.compute((32,), lambda i: te.sum(B[i, k], axis=k))])
""",
    "scalar output": """
f = te.create_prim_func([A, te.compute((), lambda: te.sum(A[l, k], axis=[l, k]))])
""",
    "transpose": """
f = te.create_prim_func([A, te.compute((48, 32), lambda i, j: A[j, i])])
""",
    "gather": """
X = te.placeholder((10,), name="X", dtype="int32")
f = te.create_prim_func([A, X, te.compute((10, 48), lambda i, j: A[X[i], j])])
""",
    "global reduction, then elementwise": """
m = te.compute((), lambda: te.max(A[l, k], axis=[l, k]))
f = te.create_prim_func([A, te.compute((32, 48), lambda i, j: A[i, j] - m[()])])
""",
    "stencil over a computed value": """
Y = te.compute((32, 48), lambda i, j: tirx.exp(A[i, j]))
f = te.create_prim_func([A, te.compute((30, 48), lambda i, j: Y[i, j] + Y[i + 1, j] + Y[i + 2, j])])
""",
    "no input": """
f = te.create_prim_func([te.compute((32, 48), lambda i, j: tirx.const(1, "float32"))])
""",
    "transposed weights": """
V = te.placeholder((48, 64), name="V", dtype="float16")
f = te.create_prim_func([H, V, te.compute((32, 48), lambda i, j: te.sum(
    H[i, r].astype("float32") * V[j, r].astype("float32"), axis=r))])
""",
    "half-precision accumulator": """
f = te.create_prim_func(
    [H, W, te.compute((32, 48), lambda i, j: te.sum(H[i, r] * W[r, j], axis=r))])
""",
    "elementwise before a product": """
R = te.compute((32, 64), lambda i, j: tirx.max(H[i, j], tirx.const(0, "float16")))
f = te.create_prim_func([H, W, product(R)])
""",
    "reduction behind a product": """
C = product()
m = te.compute((32,), lambda i: te.max(C[i, k], axis=k))
f = te.create_prim_func([H, W, te.compute((32, 48), lambda i, j: C[i, j] - m[i])])
""",
    "two products in a row": """
P = product()
D = te.placeholder((48, 32), name="D", dtype="float16")
f = te.create_prim_func([H, W, D, te.compute((32, 32), lambda i, j: te.sum(
    P[i, k].astype("float16").astype("float32") * D[k, j].astype("float32"), axis=k))])
""",
}


@pytest.mark.parametrize("chip", ["ascend-910b1", "mlu370-s4", "a100-sxm-40gb"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_other_forms(tmp_path, name, chip):
    (tmp_path / "mine.py").write_text(HEAD + PROGRAMS[name])
    workload = resolve(str(tmp_path / "mine.py"))
    sketches = spaces.design_space(workload, load_chip(chip))
    assert sketches
    for sketch in sketches:
        sch = Schedule(IRModule({"main": workload.prim_func()}), seed=5)
        Trace(list(sketch.trace.simplified(True).insts), {}).apply_to_schedule(sch, True)
        report = check_schedule(sch, workload, 0)
        assert report.ok, report


@pytest.mark.parametrize("chip", ["ascend-910b1", "mlu370-s4"])
def test_an_uncovered_form_is_one_clear_line(tmp_path, chip):
    (tmp_path / "mine.py").write_text(
        HEAD
        + """
f = te.create_prim_func([A, *te.compute((32,), lambda i: te.comm_reducer(
    lambda x, y: (x[0] + y[0], x[1] + y[1]),
    lambda p, q: (tirx.const(0, p), tirx.const(0, q)))((A[i, k], A[i, k] * A[i, k]), axis=k))])
"""
    )
    with pytest.raises(spaces.SpaceError, match=rf"^workload .* on {chip}: ") as caught:
        spaces.design_space(resolve(str(tmp_path / "mine.py")), load_chip(chip))
    assert "\n" not in str(caught.value)
