"""One worker of the run `pair`: `python worker_program.py LOGDIR RANK`. Rank 1 has an op that is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

from compare_programs import leaky, train


def main(logdir: Path, rank: int) -> None:
    """Writes the worker's part, and rank 0 a run of its own, which has no other worker."""
    train(logdir, "pair", activation=leaky if rank else "relu", rank=rank)
    if rank == 0:
        train(logdir, "alone")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
