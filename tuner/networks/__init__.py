"""Whole networks as weighted workloads.

Importing this package does not import TVM; reading an ONNX file does.
"""

from tuner.networks.network import Network, NetworkError, Task, Untuned
from tuner.networks.resolve import NETWORKS, resolve_network

__all__ = ["NETWORKS", "Network", "NetworkError", "Task", "Untuned", "resolve_network"]
