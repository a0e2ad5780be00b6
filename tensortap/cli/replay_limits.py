"""The options that limit what a replay may take."""

from __future__ import annotations

import argparse
import math


def add_limits(parser: argparse.ArgumentParser, seconds: float, gigabytes: float, prefix: str = "") -> None:
    """`--seconds` and `--memory`, or `--PREFIX-…`: into `seconds`, and into `memory_bytes`."""
    parser.add_argument(
        f"--{prefix}seconds",
        dest="seconds",
        type=_amount,
        default=seconds,
        metavar="S",
        help=f"seconds that a replay may take (default: {seconds:g})",
    )
    parser.add_argument(
        f"--{prefix}memory",
        dest="memory_bytes",
        type=_bytes,
        default=_bytes(str(gigabytes)),
        metavar="GB",
        help="memory that a replay may take beyond TensorFlow's own, in GB of 10^9 bytes, as 0.5"
        f" (default: {gigabytes:g})",
    )


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 1e6:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number above 0, of at most a million")
    return number


def _bytes(text: str) -> int:
    return int(_amount(text) * 1e9)
