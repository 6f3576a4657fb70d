"""Where oracles lie: with the package, or in a folder of the user's."""

from __future__ import annotations

import os
from pathlib import Path

SHIPPED = Path(__file__).with_name("data")
VARIABLE = "PRUNELAB_ORACLES"  # environment: the folder in place of the user's cache


def default_folder() -> Path:
    """Where ``prunelab oracle`` writes and every other command looks: ``$PRUNELAB_ORACLES``, else
    the user's cache.
    """
    if given := os.environ.get(VARIABLE):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "prunelab" / "oracles"


def file_of(name: str, folder: Path) -> Path:
    """The file of the oracle of that name in a folder."""
    return folder / f"{name}.parquet"


def state_of(name: str, folder: Path) -> str:
    """``shipped``, ``measured`` (it lies in ``folder``) or ``-``."""
    if file_of(name, SHIPPED).exists():
        return "shipped"
    return "measured" if file_of(name, folder).exists() else "-"
