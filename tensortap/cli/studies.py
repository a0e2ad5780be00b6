"""The options of `tensortap replay` for studies of a step (`--recast` …), and what they print."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .argument_types import local
from .views.against_view import print_differences
from .views.drift_view import print_drifts
from .views.fix_view import print_fix
from .views.logic_test_view import print_test

if TYPE_CHECKING:
    from rich.console import Console

_PRINTERS: Mapping[str, Callable[[Mapping[str, Any], Console], None]] = {
    "against": print_differences,
    "fix": print_fix,
    "recast": print_drifts,
    "test": print_test,
}


def add_study_arguments(parser: argparse.ArgumentParser) -> None:
    """One of them at a time; `--nodes` chooses the tensors."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--recast",
        metavar="DTYPE",
        choices=("float64", "float32", "bfloat16", "float16"),
        help="run the whole step in another dtype: which tensors drift, and where the drift is born",
    )
    group.add_argument(
        "--against",
        type=local,
        metavar="RUN|BUNDLE",
        help="another recording of the step: what each node got differently, and what it adds itself",
    )
    group.add_argument(
        "--fix",
        action="store_true",
        help="the smallest change of the program that keeps this step from leaving NaN or infinite numbers",
    )
    group.add_argument(
        "--test",
        choices=("batch", "causal", "padding", "gradient", "determinism", "sensitivity"),
        help="test the step's logic: do samples mix, does the future or padding leak, are gradients"
        " derivatives, is every replay the same, what moves the loss",
    )
    parser.add_argument(
        "--at", metavar="TENSOR", help="with --test padding: what is changed where it is padded"
    )
    parser.add_argument("--pad", type=float, default=0.0, help="with --test padding: the value that pads (0)")
    parser.add_argument("--runs", type=int, default=5, help="with --test determinism: how many replays (5)")
    parser.add_argument("--against-step", type=int, metavar="N", help="its step; default: that of --step")


def study_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of a `Request` that say what is to be found out."""
    if arguments.recast:
        return {"study": "recast", "options": {"dtype": arguments.recast}}
    if arguments.against:
        from tensortap.replay.locate import locate

        step = arguments.step if arguments.against_step is None else arguments.against_step
        other = locate(arguments.against, step, arguments.call)
        return {"study": "against", "options": {"source": str(other)}}
    if arguments.fix:
        return {"study": "fix", "options": {}}
    if arguments.test:
        options = {"test": arguments.test, "at": arguments.at, "pad": arguments.pad, "runs": arguments.runs}
        return {"study": "test", "options": options}
    return {"study": "", "options": {}}


def print_study(found: Mapping[str, Any], out: Console) -> None:
    """Writes what was found."""
    _PRINTERS[found["study"]](found, out)


def has_failed(found: Mapping[str, Any] | None) -> bool:
    """Whether a study was a test that the step did not pass."""
    return found is not None and found.get("passed") is False
