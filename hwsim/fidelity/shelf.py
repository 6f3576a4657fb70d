"""From the name that a dataset gives a device to a chip: shipped ones, then ``DIR/chips``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pandas as pd

from hwsim.chip import Chip, ChipError
from hwsim.chips import chip_names, load_chip, load_file
from hwsim.fidelity.data import Skip, complete

# Names that the public collections use, squeezed to letters and digits.  Where a collection says no
# more than the product, the reader names the board.
_ALIASES = {
    "v100pcie32gb": "v100-pcie",
    "v100": "v100-sxm2",
    "p100": "p100-sxm2",
    "h100": "h100-sxm",
    "a100": "a100-sxm-40gb",
    "a4000": "rtx-a4000",
    "a6000": "rtx-a6000",
    "2080ti": "rtx-2080-ti",
    "3090": "rtx-3090",
    "3060laptop": "rtx-3060-laptop",
    "rtxtitan": "titan-rtx",
    "titan": "titan-rtx",
    "1080ti": "gtx-1080-ti",
    "a10080gbpcie": "a100-pcie-80gb",
    "h10080gbhbm3": "h100-sxm",
}


class Shelf:
    """Chips by any of their names; a shipped chip is preferred to one of ``folder``."""

    def __init__(self, folder: Path | None = None) -> None:
        """Load the chip files in ``folder``; ``ChipError`` names one that is wrong."""
        files = sorted(folder.glob("*.toml")) if folder is not None and folder.is_dir() else []
        self._own = {squeeze(chip.name): chip for chip in map(load_file, files)}
        self._shipped = {squeeze(name): name for name in chip_names()}
        self._load = cache(load_chip)  # asked for every row

    def find(self, device: str, backend: str, board: str | None = None) -> Chip:
        """The chip that ``device`` names; ``board`` is its chip file where the name leaves it open.

        Raises
        ------
        ChipError
            No chip of ``backend`` has that name.
        """
        key = squeeze(device)
        name = self._shipped.get(key) or board or _ALIASES.get(key)
        if name is None and key not in self._own:  # the memory may say no more than the product
            name = self._shipped.get(re.sub(r"\d+gb$", "", key))
        chip = self._load(name) if name else self._own.get(key)
        if chip is None:
            raise ChipError(f"no chip file for {device!r}, neither shipped nor in DIR/chips")
        if chip.backend != backend:
            raise ChipError(f"{chip.name} is a {chip.backend} chip, the kernels are for {backend}")
        return chip

    def has_own(self, device: str) -> bool:
        """Whether a chip file of the folder has that name."""
        return squeeze(device) in self._own


def on_chip(
    shelf: Shelf,
    device: str,
    frame: pd.DataFrame,
    needed: tuple[str, ...],
    board: str | None = None,
) -> tuple[Chip | None, pd.DataFrame, list[Skip]]:
    """The GPU, the rows that have all that is ``needed``, and skips for the others.

    Without a chip file (None) no row is left.
    """
    try:
        chip = shelf.find(device, "gpu_sm", board)
    except ChipError as error:
        return None, frame[:0], [Skip(device, len(frame), str(error))]
    return chip, *complete(frame, needed, chip.name)


def squeeze(name: str) -> str:
    """Letters and digits of ``name`` in lower case, without maker, brand and version of the socket.

    ``NVIDIA A100-SXM4-40GB`` and ``a100-sxm-40gb`` are one.
    """
    socket = re.sub(r"(sxm)\d(?![a-z0-9])", r"\1", name.lower())
    return re.sub(r"nvidia|tesla|geforce|[^a-z0-9]", "", socket)
