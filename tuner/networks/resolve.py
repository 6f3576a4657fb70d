"""From what the user types to a :class:`Network`."""

from __future__ import annotations

from collections.abc import Callable

from tuner.networks.bert import bert_base
from tuner.networks.network import Network, NetworkError
from tuner.networks.resnet50 import resnet50

# Name -> builder and the dtypes that it takes.
NETWORKS: dict[str, tuple[Callable[[str], Network], tuple[str, ...]]] = {
    "resnet50": (resnet50, ("float16", "float32", "int8")),
    "bert-base": (bert_base, ("float16", "float32")),
}


def resolve_network(given: str) -> Network:
    """The network that ``given`` names: ``resnet50``, ``resnet50:int8``, ``FILE.onnx``, ...

    Raises
    ------
    NetworkError
        No such network or file, a dtype that it does not have, or an ONNX file that TVM cannot
        import; one line.
    """
    if given.endswith(".onnx"):
        from tuner.networks.onnx import read_onnx

        return read_onnx(given)
    name, _, dtype = given.partition(":")
    if name not in NETWORKS:
        known = ", ".join(NETWORKS)
        raise NetworkError(f"network {given!r}: expected one of {known}, or a .onnx file")
    build, dtypes = NETWORKS[name]
    dtype = dtype or "float16"
    if dtype not in dtypes:
        raise NetworkError(f"network {given!r}: has no {dtype!r}, expected {', '.join(dtypes)}")
    return build(dtype)
