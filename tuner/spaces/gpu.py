"""Design space of an NVIDIA GPU: TVM's own CUDA rules under the chip's true limits.

TVM's target tags all say 48 KiB of shared memory a block; the opt-in limit of a chip is 64-227 KiB,
so a stock tag prunes by itself what the chip would run.  The target here is built from the chip.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tvm import IRModule
from tvm.s_tir import Schedule
from tvm.s_tir import meta_schedule as ms
from tvm.target import Target

from hwsim.gpu_sm.chip import WARP, GpuChip
from tuner.spaces.fast_script import load_tvm_intrinsics


def target(chip: GpuChip) -> Target:
    """``cuda`` target with the chip's compute capability and its per-block limits."""
    return Target(
        {
            "kind": "cuda",
            "arch": f"sm_{chip.compute_capability.replace('.', '')}",
            "max_shared_memory_per_block": chip.shared_block_kib * 1024,
            "max_threads_per_block": chip.max_threads_block,
            "thread_warp_size": WARP,
        }
    )


def space_generator(dtype: str, chip: GpuChip) -> Any:
    """``PostOrderApply`` with TVM's rules, postprocs and mutators for inputs of ``dtype``.

    The tensor-core rules where the chip has tensor cores of that type (TVM would go by the compute
    capability and give a V100 int8 ones); they leave a block that no tensor-core instruction fits
    to the ordinary CUDA rules.
    """
    kind = "cuda-tensorcore" if dtype in chip.tensor_macs_sm else "cuda"
    return ms.space_generator.PostOrderApply(
        sch_rules=kind, postprocs="cuda-tensorcore", mutator_probs=kind
    )


def sketches(sch: Schedule, dtype: str, chip: GpuChip) -> list[Schedule]:
    """The sketches that TVM's rules make of the program."""
    load_tvm_intrinsics()  # before the rules, which look their intrinsics up
    space = space_generator(dtype, chip)
    context = ms.TuneContext(
        sch.mod, target=target(chip), space_generator=space, rand_state=1, num_threads=1
    )
    return list(context.generate_design_space())


def postprocs(chip: GpuChip) -> list[Any]:
    """TVM's CUDA postprocs in TVM's order, initialised for the chip.

    ``VerifyGPUCode`` gives the verdict; ``RewriteTensorize`` comes after it since it is slow and
    changes nothing that the verifier looks at.
    """
    return list(_context(target(chip)).space_generator.postprocs)


@cache
def _context(of: Target) -> Any:
    load_tvm_intrinsics()
    space = ms.space_generator.PostOrderApply(
        sch_rules=[], postprocs="cuda-tensorcore", mutator_probs={}
    )
    return ms.TuneContext(IRModule(), target=of, space_generator=space, num_threads=1)
