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
    """``PostOrderApply`` with TVM's rules, postprocs and mutators for the target.

    From compute capability 7.0 on these are the tensor-core rules, which leave a block that no
    tensor-core instruction fits (float32, a reduction too short) to the ordinary CUDA rules.
    """
    return ms.space_generator.PostOrderApply()


def sketches(sch: Schedule, dtype: str, chip: GpuChip) -> list[Schedule]:
    """The sketches that TVM's rules make of the program."""
    load_tvm_intrinsics()
    context = ms.TuneContext(
        sch.mod,
        target=target(chip),
        space_generator=space_generator(dtype, chip),
        rand_state=1,
        num_threads=1,
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
    space = ms.space_generator.PostOrderApply()
    return ms.TuneContext(IRModule(), target=of, space_generator=space, num_threads=1)
