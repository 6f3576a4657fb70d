"""What ``--backend`` takes, and which chips it can measure."""

from __future__ import annotations

import pytest

from hwsim.chips import load_chip
from tuner.cli.app import run
from tuner.hardware import Address, HardwareError, address_of
from tuner.hardware.address import check_backend


def test_an_address_names_tracker_and_key() -> None:
    assert address_of("rpc://127.0.0.1:9190/board") == Address("127.0.0.1", 9190, "board")
    assert str(address_of("rpc://farm:9190/k")) == "rpc://farm:9190/k"
    assert address_of("sim") is address_of("local") is None


@pytest.mark.parametrize("text", ["", "rpc", "rpc://farm", "rpc://farm:0/k", "rpc://farm:99999/k",
                                  "rpc://farm:9190/", "http://farm:9190/k", "Local"])  # fmt: skip
def test_anything_else_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(HardwareError, match="expected sim, local or rpc://HOST:PORT/KEY"):
        address_of(text)


def test_chips_and_backends_have_to_fit() -> None:
    check_backend("local", load_chip("local-cpu"))
    check_backend("sim", load_chip("mlu370-s4"))
    with pytest.raises(HardwareError, match="has no simulator"):
        check_backend("sim", load_chip("local-cpu"))
    with pytest.raises(HardwareError, match="is simulated"):
        check_backend("local", load_chip("mlu370-s4"))


def test_a_misfit_is_one_line_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", "--chip", "local-cpu", "--workload", "gemm:64x64x64:float32"]) == 2
    said = capsys.readouterr().err
    assert "no simulator" in said
    assert said.count("\n") == 1
