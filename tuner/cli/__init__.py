"""The command line: one file a command; TVM is imported only by commands that need it."""

from __future__ import annotations

import sys

from tuner.cli.errors import INTERRUPTED


def main() -> None:
    """Entry point of the console script ``prunelab``; exit codes 0 fine, 1 regression, 2 usage."""
    try:
        from tuner.cli.app import run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:  # before a command has begun
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
