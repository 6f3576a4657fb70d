"""Real hardware as measurement backend: this machine, or boards behind a TVM RPC tracker."""

from tuner.hardware.address import LOCAL, SIM, Address, HardwareError, address_of

__all__ = ["LOCAL", "SIM", "Address", "HardwareError", "address_of"]
