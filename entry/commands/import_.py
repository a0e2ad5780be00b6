"""`tensortap import`: foreign formats into a run."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ..arguments import local
from ..progress import progress
from ..sources import print_notes
from ..terminal import cell, console, counted, print_json

HELP = "import checkpoints, TensorBoard and tfdbg files, NumPy, safetensors, Keras models, graphs"
EXAMPLE = "tensortap import checkpoints/ logs --run weights"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", type=local, metavar="SRC", help="a file or folder; a checkpoint also by its prefix"
    )
    parser.add_argument("logdir", type=local, metavar="LOGDIR", help="where the run goes")
    parser.add_argument(
        "--run",
        dest="run_name",  # `run` is the command itself
        default="",
        metavar="NAME",
        help="name of the run (default: the source's)",
    )
    parser.add_argument(
        "--format",
        default="",
        metavar="NAME",
        help="read it as this format (see --formats)",
    )
    parser.add_argument("--formats", action=_Formats, nargs=0, help="list the formats, and stop")
    parser.add_argument("--json", action="store_true", help="print JSON")


class _Formats(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from tensortap.importers import FORMATS

        for row in FORMATS:
            print(f"{row.name:20}{row.title}")
        parser.exit()


def run(arguments: argparse.Namespace) -> int:
    from tensortap.importers import import_source

    with progress("importing", quiet=arguments.json) as advance:
        found = import_source(
            arguments.source, arguments.logdir, arguments.run_name, arguments.format, advance
        )
    if arguments.json:
        print_json(asdict(found))
        return 0
    what = f"{counted(found.snapshots, 'snapshot')}, {counted(found.graphs, 'graph')}"
    console().print(cell(f"{what} in {', '.join(str(arguments.logdir / name) for name in found.runs)}"))
    print_notes(found.notes)
    return 0
