"""What TVM's builder and runners say of a failure, in the words of the log."""

from __future__ import annotations

from tvm.support.popen_pool import MapResult, StatusKind

Failure = tuple[str, str]  # failure and error, as in a log's Measurement
_LONGEST = 200  # characters of a message that a log keeps


def of_build(result: MapResult, timeout_s: float) -> Failure | None:
    """Why a build failed; None where it did not."""
    if result.status == StatusKind.COMPLETE:
        return None
    if result.status == StatusKind.TIMEOUT:
        return "timeout", f"timeout: compiling took more than {timeout_s:g} s"
    return "compile_error", f"compile_error: {_last(str(result.value))}"


def of_run(message: str | None) -> Failure | None:
    """Why a runner gave no latencies, from its message; None where it gave some."""
    if message is None:
        return None
    if "Timeout" in message and "killed after" in message:
        return "timeout", f"timeout: {_last(message).split(': ', 1)[-1]}"
    return "launch_error", f"launch_error: {_last(message)}"


def _last(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1][:_LONGEST] if lines else "no message"
