"""What ``--backend`` names: ``sim``, ``local`` or ``rpc://HOST:PORT/KEY``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hwsim.chip import Chip
from hwsim.columns import SIMULATED

SIM, LOCAL = "sim", "local"
_RPC = re.compile(r"^rpc://(?P<host>[^/:\s]+):(?P<port>\d{1,5})/(?P<key>[^/\s]+)$")


class HardwareError(ValueError):
    """Hardware that cannot be used or has gone; the message is one line for the user."""


@dataclass(frozen=True)
class Address:
    """A TVM RPC tracker and the key that its boards are registered under."""

    host: str
    port: int
    key: str

    def __str__(self) -> str:
        return f"rpc://{self.host}:{self.port}/{self.key}"


def address_of(backend: str) -> Address | None:
    """The tracker that a backend's name stands for; None for ``sim`` and ``local``.

    Raises
    ------
    HardwareError
        The name is none of the three forms.
    """
    if backend in (SIM, LOCAL):
        return None
    found = _RPC.match(backend)
    if found is None or not 0 < int(found["port"]) < 65536:
        raise HardwareError(
            f"--backend {backend!r}: expected sim, local or rpc://HOST:PORT/KEY of a TVM tracker"
        )
    return Address(found["host"], int(found["port"]), found["key"])


def check_backend(backend: str, chip: Chip) -> None:
    """Refuse a backend that cannot measure ``chip``.

    Raises
    ------
    HardwareError
        As :func:`address_of`; a simulator for a real chip, or hardware for a simulated one.
    """
    address_of(backend)
    if backend == SIM and chip.backend not in SIMULATED:
        raise HardwareError(
            f"chip {chip.name!r} is a real {chip.backend} and has no simulator; give --backend"
            " local or --backend rpc://HOST:PORT/KEY"
        )
    if backend != SIM and chip.backend in SIMULATED:
        raise HardwareError(
            f"--backend {backend}: measures real processors, chip {chip.name!r} is simulated;"
            " give --backend sim, or a chip such as local-cpu"
        )
