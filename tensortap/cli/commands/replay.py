"""`tensortap replay`: runs a recorded step again, compares, computes any tensor, or changes one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tensortap.system.temp_dirs import temp_folder

from ..argument_types import add_follow_links, local, on_disk
from ..console import print_json
from ..progress import text_progress
from ..replay_options import add_analysis_arguments, add_limits, analysis_request, is_failed_test
from ..select_run import only_run
from ..views.replay import is_refuted, print_answer, print_recordings, proof_of
from ..views.tensor import TensorView

HELP = "replay a recorded step: verify it, compute any tensor, try changes"
EXAMPLE = """tensortap replay logs/digits --step 100
         tensortap replay logs/digits --step 100 --tensor dense/Relu:0
         tensortap replay logs/digits --step 100 --accuracy --nodes dense
         tensortap replay logs/digits --step 100 --dtype bfloat16
         tensortap replay logs/digits --step 100 --test causal
         tensortap replay step.tapbundle --override 'dense/Relu:0=clip(x, 0, 6)' --out logs --nodes ."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        type=on_disk("only local runs can be replayed; export the step with 'tensortap bundle' first"),
        metavar="RUN|BUNDLE",
        help="a run with recordings, or a bundle",
    )
    parser.add_argument("--list", action="store_true", help="list the recordings of the run")
    parser.add_argument("--step", type=int, help="recorded step (default: the last one)")
    parser.add_argument("--call", type=int, help="recorded call within the step (default: the last one)")
    parser.add_argument(
        "--tensor", action="append", default=[], metavar="NAME", help="compute and show this tensor"
    )
    parser.add_argument("--visit", type=int, default=0, help="iteration of the tensor to show (default: 0)")
    parser.add_argument(
        "--nodes", metavar="REGEX", help="compute all tensors whose name matches; needs --out"
    )
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        type=_change,
        metavar="NAME=EXPR",
        help="change a tensor x, e.g. 'a/Relu:0=clip(x, 0, 6)', and recompute everything downstream",
    )
    parser.add_argument(
        "--accuracy",
        action="store_true",
        help="check the accuracy of each node (of --nodes) against float64",
    )
    parser.add_argument(
        "--observer-effect",
        action="store_true",
        help="check that capturing (all tensors, or --nodes) does not change results, and that stored "
        "values equal the computed ones",
    )
    for old, name in (("--verdict", "accuracy"), ("--certify", "observer_effect")):  # until 1.0
        parser.add_argument(old, dest=name, action="store_true", help=argparse.SUPPRESS)
    add_analysis_arguments(parser)
    parser.add_argument(
        "--out", type=local, metavar="LOGDIR", help="write the computed tensors to this directory, as a run"
    )
    parser.add_argument(
        "--run", dest="name", default="replay", metavar="NAME", help="name of the written run"
    )
    add_limits(parser, 600.0, 16.0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_follow_links(parser)


def _change(text: str) -> tuple[str, str]:
    name, equals, expression = text.partition("=")
    if not equals or not name.strip() or not expression.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not a change; use NAME=EXPR")
    return name.strip(), expression.strip()


def run(arguments: argparse.Namespace) -> int:
    from tensortap.replay.execution.expression_grammar import check_changes
    from tensortap.replay.locate import recordings_in

    if arguments.list:
        print_recordings(recordings_in(arguments.source), arguments.json)
        return 0
    for _, expression in arguments.override:
        check_changes(expression)  # before TensorFlow starts, which takes seconds
    with temp_folder() as temporary:
        logdir = arguments.out or temporary
        answer = _replay(arguments, logdir)
        views = [_view(logdir / arguments.name, name, arguments.visit) for name in arguments.tensor]
        proofs = [proof_of(answer, view, arguments.source) for view in views]
    if arguments.json:
        print_json({"answer": answer, "tensors": [view.as_data() for view in views]})
    else:
        print_answer(answer, views, proofs, arguments)
    failed = is_refuted(answer.observer_effect) or is_failed_test(answer.analysis)
    failed |= any(answer.proofs.get(name) is False for name in arguments.tensor)
    return 1 if answer.identical is False or failed else 0


def _replay(arguments: argparse.Namespace, logdir: Path) -> Any:
    from tensortap.replay.client import Limits, run_replay
    from tensortap.replay.locate import locate
    from tensortap.replay.protocol import Request

    request = Request(
        source=str(locate(arguments.source, arguments.step, arguments.call)),
        nodes="" if arguments.observer_effect and arguments.nodes is None else arguments.nodes,
        tensors=arguments.tensor,
        changes=_changes(arguments.override),
        logdir=str(logdir) if arguments.out or arguments.tensor else "",  # otherwise none are read
        run=arguments.name,
        accuracy=arguments.accuracy,
        observer_effect=arguments.observer_effect,
        **analysis_request(arguments),
    )
    with text_progress("replaying", quiet=arguments.json) as advance:
        return run_replay(request, Limits(arguments.seconds, arguments.memory_bytes), advance)


def _changes(overrides: list[tuple[str, str]]) -> dict[str, str]:
    """Changes of one tensor apply one after the other."""
    changes: dict[str, str] = {}
    for name, expression in overrides:
        changes[name] = f"{changes[name]}; {expression}" if name in changes else expression
    return changes


def _view(run_dir: Path, tensor: str, visit: int) -> TensorView:
    return TensorView.of(
        only_run(run_dir), tensor, step=None, visit=visit, worker=None, graph=None, selection=None
    )
