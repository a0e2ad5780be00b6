"""The options of `tensortap replay` for studies of a step (`--recast` …), and what they print."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .against_view import print_differences
from .arguments import local
from .drift_view import print_drifts
from .fix_view import print_fix

if TYPE_CHECKING:
    from rich.console import Console

_PRINTERS: Mapping[str, Callable[[Mapping[str, Any], Console], None]] = {
    "against": print_differences,
    "fix": print_fix,
    "recast": print_drifts,
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
    parser.add_argument("--against-step", type=int, metavar="N", help="its step; default: that of --step")


def study_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The fields of a `Request` that say what is to be found out."""
    if arguments.recast:
        return {"study": "recast", "options": {"dtype": arguments.recast}}
    if arguments.against:
        from tensortap.replay import locate

        step = arguments.step if arguments.against_step is None else arguments.against_step
        return {"study": "against", "options": {"source": str(locate(arguments.against, step, None))}}
    if arguments.fix:
        return {"study": "fix", "options": {}}
    return {"study": "", "options": {}}


def print_study(found: Mapping[str, Any], out: Console) -> None:
    """Writes what was found."""
    _PRINTERS[found["study"]](found, out)
