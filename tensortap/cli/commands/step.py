"""`tensortap step`: steps through a recorded step node by node, with changed tensors recomputed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from tensortap.system.progress_line import progress_line
from tensortap.system.temp_dirs import temp_folder

from ..argument_types import add_follow_links, local
from ..replay_options import add_limits
from ..stepper_shell import StepperShell

HELP = "step through a recorded step node by node, like a debugger, and change tensors"
EXAMPLE = """tensortap step logs/digits --step 100
         tensortap step step.tapbundle
         tensortap step logs/digits --commands 'nan; show; set = where(isnan(x), 0, x); changed'
         tensortap step logs/digits --step 100 < commands.txt
         at the prompt: help"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=local, metavar="RUN|BUNDLE", help="a run with recordings, or a bundle")
    parser.add_argument("--step", type=int, help="recorded step (default: the last one)")
    parser.add_argument("--call", type=int, help="recorded call within the step (default: the last one)")
    parser.add_argument(
        "--commands",
        metavar="TEXT",
        help="run these commands, separated by ';' or line breaks, then exit; status 1 if one fails",
    )
    add_limits(parser, 600.0, 16.0)
    add_follow_links(parser)


def run(arguments: argparse.Namespace) -> int:
    from tensortap.replay.client import Limits, ReplayProcess
    from tensortap.replay.locate import locate
    from tensortap.replay.stepper.session import StepperSession

    source = locate(arguments.source, arguments.step, arguments.call)
    limits = Limits(arguments.seconds, arguments.memory_bytes)
    with (
        temp_folder() as temporary,
        ReplayProcess(limits) as process,
    ):
        with progress_line("replaying the step"):
            session = StepperSession(source, process, temporary)
        shell = StepperShell(session, source)
        if arguments.commands is not None:
            return shell.run_all(split_commands(arguments.commands))
        if not sys.stdin.isatty():
            return shell.run_all(line.rstrip("\n") for line in sys.stdin)
        return shell.talk()


def split_commands(text: str) -> Iterator[str]:
    """Commands between `;` and line breaks."""
    for line in text.splitlines():
        yield from line.split(";")
