"""From TVM's target to a chip and back."""

from __future__ import annotations

from typing import Any

from tvm.target import Target

from hwsim.chip import Chip
from hwsim.chips import chip_names, load_chip
from tuner import spaces
from tuner.dropin.error import TuneError

# TVM's tags -> the chip that is meant; a target does not remember its tag, and many chips share one
# compute capability, so that only the tag's text can tell.
TAGS = {
    "nvidia/nvidia-a100": "a100-sxm-40gb",
    "nvidia/nvidia-a10": "a10",
    "nvidia/nvidia-h100": "h100-sxm",
    "nvidia/nvidia-t4": "t4",
    "nvidia/nvidia-v100": "v100-sxm2",
    "nvidia/tesla-p100": "p100-sxm2",
    "nvidia/rtx-a6000": "rtx-a6000",
    "nvidia/geforce-gtx-1080-ti": "gtx-1080-ti",
    "nvidia/geforce-rtx-2080-ti": "rtx-2080-ti",
    "nvidia/geforce-rtx-3090": "rtx-3090",
    "nvidia/geforce-rtx-4090": "rtx-4090",
    "nvidia/nvidia-titan-rtx": "titan-rtx",
}
_KINDS = {"gpu_sm": "cuda", "ascend_cube": "ext_dev", "mlu_sram": "ext_dev", "cpu": "llvm"}


def resolve_target(target: Any, chip: Chip | str | None) -> tuple[Target, Chip | None]:
    """TVM's target and the chip that stands for it (None: no chip file describes it).

    ``target`` is anything that ``tvm.target.Target`` takes, or the name of a chip or chip file.

    Raises
    ------
    TuneError
        TVM does not know the target, or it is of another kind than the chip.
    hwsim.chip.ChipError
        No such chip, or a chip file that is refused.
    """
    if chip is None and _names_chip(target):
        chip = str(target)
    found = load_chip(chip) if isinstance(chip, str) else chip
    if found is not None and (target is None or _names_chip(target)):
        return spaces.target(found), found
    made = _target(target)
    found = found or _chip_of(target, made)
    _check_kind(made, found)
    return made, found


def overprunes(target: Target, chip: Chip | None) -> str | None:
    """A line on a target that allows less shared memory than its chip has; None: it does not."""
    if chip is None or chip.backend != "gpu_sm":
        return None
    cap, true = _limit(target), _limit(spaces.target(chip))
    if cap >= true:
        return None
    return (
        f"target caps shared memory at {cap} B a block, {chip.name} has {true} B: TVM rejects what"
        f" would run; target={chip.name!r} has the true limits"
    )


def _limit(target: Target) -> int:
    return int(target.attrs.get("max_shared_memory_per_block", 0))


def _names_chip(target: Any) -> bool:
    return isinstance(target, str) and (target in chip_names() or target.endswith(".toml"))


def _target(target: Any) -> Target:
    try:
        return target if isinstance(target, Target) else Target(target)
    except Exception as error:  # TVM raises many kinds
        reason = str(error).strip().splitlines()[-1]
        raise TuneError(
            f"target {target!r}: {reason}; expected a TVM target such as"
            " {'kind': 'llvm', 'num-cores': 4}, a tag of tvm.target.list_tags() or a chip's name"
        ) from None


def _chip_of(given: Any, target: Target) -> Chip | None:
    if isinstance(given, str) and given in TAGS:
        return load_chip(TAGS[given])
    model = str(target.attrs.get("model", ""))
    if target.kind.name == "ext_dev" and model in chip_names():
        return load_chip(model)
    return None


def _check_kind(target: Target, chip: Chip | None) -> None:
    kind = target.kind.name
    expected = _KINDS.get(chip.backend, kind) if chip is not None else kind
    if chip is not None and kind != expected:
        raise TuneError(f"chip {chip.name} with a target of kind {kind}, expected {expected}")
