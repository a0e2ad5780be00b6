"""Options of `tensortap replay` and `tensortap step`: analyses of a step (`--dtype` …), and its limits."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from .argument_types import local, memory_size


def add_analysis_arguments(parser: argparse.ArgumentParser) -> None:
    """One of them at a time; `--nodes` chooses the tensors."""
    group = parser.add_mutually_exclusive_group()
    dtypes = ("float64", "float32", "bfloat16", "float16")
    group.add_argument(
        "--dtype",
        choices=dtypes,
        help="replay the step in another dtype, and list the tensors that drift and the nodes that cause it",
    )
    group.add_argument(
        "--compare-with",
        type=local,
        metavar="RUN|BUNDLE",
        help="compare with another recording of the step: the difference that each node receives and "
        "introduces",
    )
    group.add_argument(
        "--repair",
        action="store_true",
        help="find the minimal repair: the smallest change that keeps this step finite",
    )
    group.add_argument(
        "--test",
        choices=("batch", "causal", "padding", "gradient", "determinism", "sensitivity"),
        help="run an invariant check: independent samples, causality, padding, gradients, determinism, "
        "or sensitivity of the loss",
    )
    # The names of these options until 1.0.
    group.add_argument("--recast", dest="dtype", choices=dtypes, help=argparse.SUPPRESS)
    group.add_argument("--against", dest="compare_with", type=local, help=argparse.SUPPRESS)
    group.add_argument("--fix", dest="repair", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--against-step", dest="compare_step", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--at", metavar="TENSOR", help="with --test padding: the tensor to change at padded positions"
    )
    parser.add_argument(
        "--pad", type=float, default=0.0, help="with --test padding: the padding value (default: 0)"
    )
    parser.add_argument(
        "--runs", type=int, default=5, help="with --test determinism: number of replays (default: 5)"
    )
    parser.add_argument(
        "--compare-step",
        type=int,
        metavar="N",
        help="with --compare-with: step of the other recording (default: the same step)",
    )


def analysis_request(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of a `Request` that select the analysis."""
    if arguments.dtype:
        return {"analysis": "dtype", "options": {"dtype": arguments.dtype}}
    if arguments.compare_with:
        from tensortap.replay.locate import locate

        step = arguments.step if arguments.compare_step is None else arguments.compare_step
        other = locate(arguments.compare_with, step, arguments.call)
        return {"analysis": "compare", "options": {"source": str(other)}}
    if arguments.repair:
        return {"analysis": "repair", "options": {}}
    if arguments.test:
        options = {"test": arguments.test, "at": arguments.at, "pad": arguments.pad, "runs": arguments.runs}
        return {"analysis": "test", "options": options}
    return {"analysis": "", "options": {}}


def is_failed_test(found: Mapping[str, Any] | None) -> bool:
    """Whether an analysis was a test that the step did not pass."""
    return found is not None and found.get("passed") is False


def add_limits(parser: argparse.ArgumentParser, seconds: float, gigabytes: float, prefix: str = "") -> None:
    """`--seconds` and `--memory`, or `--PREFIX-…`: into `seconds`, and into `memory_bytes`."""
    parser.add_argument(
        f"--{prefix}seconds",
        dest="seconds",
        type=_amount,
        default=seconds,
        metavar="S",
        help=f"time limit of a replay in seconds (default: {seconds:g})",
    )
    parser.add_argument(
        f"--{prefix}memory",
        dest="memory_bytes",
        type=memory_size,
        default=memory_size(str(gigabytes)),
        metavar="GB",
        help="memory limit of a replay in addition to TensorFlow's own, in GB (10^9 bytes), e.g. 0.5 "
        f"(default: {gigabytes:g})",
    )


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= 1e6:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} must be a number above 0 and at most a million")
    return number
