"""`python -m tensortap` and the command `tensortap`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tensortap.cli.exit import interrupted_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns 0 if all is well, 1 if data or machine are not, 2 for wrong usage."""
    with interrupted_at_once():
        from tensortap.cli.main import dispatch
    return dispatch(sys.argv[1:] if arguments is None else list(arguments))


if __name__ == "__main__":
    sys.exit(main())
