"""The declared columns of kernel tables: name, dtype, unit, default, meaning.

Vocabulary
----------
* A **block** is what runs on one core without outside help: a GPU thread block, an Ascend AI core's
  program, an MLU core's program.  ``blocks`` of them make the kernel.
* A **stream** ``{s}`` is one kind of data movement, named ``{operand}_{source}_{destination}``.
  Operand ``a`` and ``b`` are the two inputs of the multiply-accumulate statement, ``x`` is every
  other input (all inputs where there is no MAC), ``c`` is every output.
  ``{s}_count`` transfers are made by one block over its whole life, each of ``{s}_bytes`` payload
  bytes (padding included); so a block moves ``count * bytes`` and the kernel ``blocks`` times that.
  ``{s}_run_bytes`` is the length of a contiguous run on the off-chip (outer) side of the transfer.
  ``{s}_unique_bytes`` is how many distinct bytes of the tensor the whole kernel touches.
* "Executed" amounts include padding; "useful" ones do not.
* Quantities of one block are those of a full (not an edge) block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

SIMULATED = ("ascend_cube", "mlu_sram", "gpu_sm")
BACKENDS = (*SIMULATED, "cpu")


@dataclass(frozen=True)
class Column:
    """One declared column: ``dtype`` is ``"int64"`` or ``"float64"``, ``unit`` is for people."""

    name: str
    unit: str
    doc: str
    dtype: str = "int64"
    default: float = 0


def _c(name: str, unit: str, doc: str, default: float = 0, dtype: str = "int64") -> Column:
    return Column(name, unit, doc, dtype, default)


def _f(name: str, unit: str, doc: str, default: float = 0) -> Column:
    return Column(name, unit, doc, "float64", default)


_COMMON = (
    _c("candidate", "index", "which candidate the row belongs to, ascending"),
    _f("flops", "ops", "useful operations of the kernel (a MAC is 2)"),
    _f("macs", "MACs", "executed multiply-accumulates of the kernel, padding included"),
    _f("macs_useful", "MACs", "useful multiply-accumulates of the kernel"),
    _f("alu_ops", "ops", "executed simple element operations (add, mul, max, cast) of the kernel"),
    _f("special_ops", "ops", "executed exp, log, tanh, sqrt, divide of the kernel"),
    _c("blocks", "blocks", "blocks of the kernel (product of the blockIdx extents)", 1),
    _c("in_bits", "bits", "width of one input element of the main statement", 32),
    _c("acc_bits", "bits", "width of one accumulator element", 32),
    _c("out_bits", "bits", "width of one output element", 32),
    _c("intrin_m", "elements", "tensor intrinsic, rows (0: no tensor intrinsic)"),
    _c("intrin_n", "elements", "tensor intrinsic, columns"),
    _c("intrin_k", "elements", "tensor intrinsic, reduction"),
    _c("tile_m", "elements", "rows of the output tile that stays on chip in one block step"),
    _c("tile_n", "elements", "columns of that tile"),
    _c("tile_k", "elements", "reduction length of one staged step"),
    _c("grid_m", "tiles", "distinct block tiles along the rows of the output", 1),
    _c("grid_n", "tiles", "distinct block tiles along the columns (the fast block index)", 1),
    _f("work_share", "share", "mean work of a block over that of a full block (edges)", 1),
    _c("grid_batch", "tiles", "block tiles along batch-like dimensions", 1),
    _c("out_tiles", "tiles", "output tiles that one block makes one after another", 1),
    _c("k_steps", "steps", "staged reduction steps of one output tile", 1),
    _c("reduce_length", "elements", "full reduction length of the main statement", 1),
    _c("reduce_inner", "elements", "reduction extent inside the innermost staged step", 1),
    _c("spatial_inner", "elements", "contiguous innermost spatial extent of one lane group", 1),
    _c("vector_lanes", "elements", "widest vector access or vectorised loop of the kernel", 1),
    _c("unroll", "steps", "max step of explicit unrolling (0: none)"),
    _c("loop_depth", "loops", "loops around the main statement"),
    _c("statements", "statements", "statements of the kernel", 1),
    _c("sum_need_bits", "bits", "width that the tightest integer sum needs (0: no integer sums)"),
    _c("sum_bits", "bits", "width that it has"),
    _c("sum_unbounded", "bool", "1: the range of some integer of the kernel is not known"),
    _f(
        "sum_rounding", "share", "longest chain of additions times unit roundoff (0: no float sums)"
    ),
)


def _stream(name: str, doc: str, offchip: bool = True) -> tuple[Column, ...]:
    base = (
        _c(f"{name}_count", "transfers", f"{doc}: transfers of one block"),
        _f(f"{name}_bytes", "B", f"{doc}: bytes of one transfer"),
        _f(f"{name}_run_bytes", "B", f"{doc}: contiguous run, outer side"),
    )
    if not offchip:
        return base
    return (*base, _f(f"{name}_unique_bytes", "B", f"{doc}: distinct bytes of the kernel"))


def _buffers(*scopes: str) -> tuple[Column, ...]:
    out: list[Column] = []
    for s in scopes:
        out.append(_f(f"{s}_bytes", "B", f"allocated in {s}, one copy of every buffer"))
        out.append(_f(f"{s}_staged_bytes", "B", f"those of them in {s} that are kept in copies"))
        out.append(_c(f"{s}_buffers", "copies", f"copies kept of the staged buffers in {s}", 1))
    return tuple(out)


# One instruction of the matrix unit as the schedule issues it: a whole tile, not one 16^3 block.
_MATRIX = (
    _c("mm_count", "instructions", "matrix instructions of one block"),
    _c("mm_m", "elements", "rows of one matrix instruction, padded"),
    _c("mm_n", "elements", "columns of one matrix instruction, padded"),
    _c("mm_k", "elements", "reduction of one matrix instruction, padded"),
)

# Vector work of one block: `vec_count` passes, each over `vec_bytes` bytes of the widest operand.
_VECTOR = (
    _c("vec_count", "passes", "vector passes of one block (a statement over a staged tile)"),
    _f("vec_bytes", "B", "bytes of one pass (output elements times element width)"),
    _f("vec_run_bytes", "B", "contiguous bytes that one vector instruction can take"),
)

ASCEND_STREAMS = {
    "a_gm_l1": "A, global memory to L1 (MTE2)",
    "b_gm_l1": "B, global memory to L1 (MTE2)",
    "a_l1_l0a": "A, L1 to L0A (MTE1)",
    "b_l1_l0b": "B, L1 to L0B (MTE1)",
    "c_l0c_gm": "C, L0C to global memory (FIX)",
    "x_gm_ub": "other inputs, global memory to UB (MTE2 of the vector core)",
    "c_ub_gm": "vector outputs, UB to global memory (MTE3)",
}
MLU_STREAMS = {
    "a_gdram_sram": "A, GDRAM to the cluster's SRAM (count and bytes: per core, its share)",
    "b_gdram_sram": "B, GDRAM to the cluster's SRAM (count and bytes: per core, its share)",
    "a_sram_nram": "A, SRAM to NRAM",
    "b_sram_wram": "B, SRAM to WRAM",
    "a_gdram_nram": "A, GDRAM to NRAM",
    "b_gdram_wram": "B, GDRAM to WRAM",
    "x_gdram_nram": "other inputs, GDRAM to NRAM",
    "c_nram_gdram": "outputs, NRAM to GDRAM",
}
GPU_STREAMS = {
    "a_global_shared": "A, global to shared, all threads of the block together",
    "b_global_shared": "B, global to shared, all threads of the block together",
    "x_global_shared": "other inputs, global to shared",
    "a_shared_local": "A, shared to registers",
    "b_shared_local": "B, shared to registers",
    "x_shared_local": "other inputs, shared to registers",
    "a_global_local": "A, global straight to registers",
    "b_global_local": "B, global straight to registers",
    "x_global_local": "other inputs, global straight to registers",
    "c_local_shared": "accumulators or intermediates, registers to shared",
    "c_shared_global": "outputs, shared to global",
    "c_local_global": "outputs, registers to global",
}

CPU_STREAMS = {
    "a_memory_core": "A, memory to a core's caches, for one tile of the second level",
    "b_memory_core": "B, memory to a core's caches, for one tile of the second level",
    "x_memory_core": "other inputs, memory to a core's caches, for one tile of the second level",
    "c_core_memory": "outputs, a core's caches to memory",
}


def _streams(streams: dict[str, str], offchip: tuple[str, ...]) -> tuple[Column, ...]:
    out: list[Column] = []
    for name, doc in streams.items():
        out.extend(_stream(name, doc, any(f"_{scope}" in name for scope in offchip)))
    return tuple(out)


def _gpu_access(name: str, doc: str) -> tuple[Column, ...]:
    """How the threads of a warp spread over a GPU stream's addresses.

    Thread t of a warp touches ``(t % run) * stride1 + (t // run) * stride2`` bytes from the base,
    ``lanes`` elements wide.  ``count`` is access instructions of one thread, ``bytes`` the bytes
    that one such instruction moves over all threads of the block.
    """
    return (
        _c(f"{name}_lanes", "elements", f"{doc}: elements of one access", 1),
        _c(f"{name}_elem_bytes", "B", f"{doc}: bytes of one element", 4),
        _c(f"{name}_thread_run", "threads", f"{doc}: threads in the fastest digit", 1),
        _f(f"{name}_stride1_bytes", "B", f"{doc}: address step between neighbouring threads"),
        _f(f"{name}_stride2_bytes", "B", f"{doc}: address step between thread runs"),
    )


_ASCEND = (
    *(
        _c(f"{name}_align_bytes", "B", f"{doc}: power of two that every run starts at", 512)
        for name, doc in ASCEND_STREAMS.items()
        if "gm" in name
    ),
    _f("l2_window_bytes", "B", "bytes touched between two uses of the same data (0: everything)"),
    *_streams(ASCEND_STREAMS, ("gm",)),
    *_buffers("l1", "l0a", "l0b", "l0c", "ub"),
    *_MATRIX,
    *_VECTOR,
)
_MLU = (
    *(
        _c(f"{name}_align_bytes", "B", f"{doc}: power of two that every run starts at", 64)
        for name, doc in MLU_STREAMS.items()
        if "gdram" in name
    ),
    _c("rearrange_count", "passes", "transposes and reshapes in NRAM or WRAM of one block"),
    _f("rearrange_bytes", "B", "bytes of one such pass"),
    _c("clusters", "clusters", "clusters used (blocks = clusters * cores_per_cluster)", 1),
    _c("cores_per_cluster", "cores", "cores used in a cluster", 1),
    *_streams(MLU_STREAMS, ("gdram",)),
    *_buffers("sram", "nram", "wram"),
    *_MATRIX,
    *_VECTOR,
)
_GPU = (
    _c("threads", "threads", "threads of a block", 1),
    _c("vthreads", "threads", "virtual threads (serial repeats that interleave accesses)", 1),
    _f("shared_bytes", "B", "shared memory of a block, every pipeline version counted"),
    _c("pipeline_stages", "stages", "software pipeline depth of the staged loop (1: none)", 1),
    _c("acc_regs", "registers", "32-bit registers of a thread's accumulators"),
    _c("operand_regs", "registers", "32-bit registers of a thread's operand fragments"),
    _c("barriers", "barriers", "block-wide barriers of one block"),
    _c("tensor_core", "bool", "1: the MACs run on tensor cores"),
    _c("thread_floor", "threads", "least threads that the schedule's annotation accepts (0: none)"),
    _c("thread_ceiling", "threads", "most threads that the annotation accepts (0: none)"),
    _c("pipeline_extent", "steps", "shortest software-pipelined loop (0: none; TVM refuses 1)"),
    _f("vector_bytes", "B", "widest vector access of the schedule (0: scalars; TVM allows 16)"),
    _c("lost_rows", "bool", "1: TVM cannot follow which rows the epilogue writes and refuses it"),
    _c("ramp_lanes", "elements", "widest vector access with a stride, as TVM's verifier sees it"),
    _c(
        "launch_bounds", "bool", "1: the compiler knows the block size, so that it spills to fit", 1
    ),
    _c("shared_static", "bool", "1: shared memory is declared statically (limit 48 KiB a block)"),
    _c("serial_loads", "bool", "1: staged loads sit in branches, so that one waits for the other"),
    _c("chained_blocks", "blocks", "blocks that add to one result one after another (split-K)", 1),
    _c("code_macs", "MACs", "MACs of a thread in straight-line code that runs once (0: loops)"),
    _c("code_loads", "accesses", "operand loads of a thread in that code"),
    _c("stage_loops", "iterations", "rolled loops around a thread's staged loads"),
    _c("address_ops", "instructions", "for the address of a load to registers, beyond one"),
    _c("live_inputs", "registers", "inputs that a thread of that code reads early and needs late"),
    *_streams(GPU_STREAMS, ("global",)),
    *(column for name, doc in GPU_STREAMS.items() for column in _gpu_access(name, doc)),
    *(
        _f(f"{name}_store_stride{i}_bytes", "B", f"{doc}: stride{i} on the shared side (0: dense)")
        for name, doc in GPU_STREAMS.items()
        if name.endswith("_global_shared")
        for i in (1, 2)
    ),
)
CPU_LEVELS = 4  # levels of tiles that are told apart, innermost first; the last one is everything
_CPU = (
    _f("acc_bytes", "B", "accumulators of the loops inside the innermost reduction loop"),
    _c("body_copies", "copies", "of the main statement that explicit unrolling makes"),
    _c("vector_stride", "elements", "widest step of an operand between two lanes (0: none)"),
    *(
        column
        for level in range(CPU_LEVELS)
        for column in (
            _f(f"level{level}_bytes", "B", f"distinct bytes touched by one tile of level {level}"),
            _f(f"level{level}_runs", "tiles", f"tiles of level {level} that the kernel makes"),
        )
    ),
    *_streams(CPU_STREAMS, ("memory",)),
)

_OF_BACKEND = {"ascend_cube": _ASCEND, "mlu_sram": _MLU, "gpu_sm": _GPU, "cpu": _CPU}


@cache
def columns_of(backend: str) -> dict[str, Column]:
    """Name -> :class:`Column` for a backend; ``ValueError`` names the known ones."""
    if backend not in _OF_BACKEND:
        raise ValueError(f"backend {backend!r}: expected one of {', '.join(BACKENDS)}")
    return {column.name: column for column in (*_COMMON, *_OF_BACKEND[backend])}
