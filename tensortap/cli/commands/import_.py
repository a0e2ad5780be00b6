"""`tensortap import`: foreign formats into a run."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tensortap.core.text import counted
from tensortap.importers.remote_copy import MAX_BYTES, RemoteCopier
from tensortap.importers.resolve import print_notes
from tensortap.importers.safe_io import MAX_UNPACKED_ARRAYS
from tensortap.system.progress_line import progress_line

from ..argument_types import add_follow_links, local, size
from ..console import cell, console, print_json

HELP = "import checkpoints, TensorBoard and tfdbg files, NumPy, safetensors, Keras models, graphs"
EXAMPLE = "tensortap import checkpoints/ logs --run weights"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SRC",
        help="a file or folder, s3://… or https://…; for a checkpoint, its prefix",
    )
    parser.add_argument("logdir", type=local, metavar="LOGDIR", help="log directory for the run")
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
    parser.add_argument("--formats", action=_Formats, nargs=0, help="list the formats and exit")
    parser.add_argument(
        "--max-bytes",
        type=size,
        default=MAX_BYTES,
        metavar="SIZE",
        help="maximum download size (default: 16GiB)",
    )
    parser.add_argument(
        "--max-unpacked",
        type=size,
        default=MAX_UNPACKED_ARRAYS,
        metavar="SIZE",
        help="allowance for compressed arrays that expand more than 32-fold (default: 256MiB)",
    )
    add_follow_links(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


class _Formats(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from tensortap.importers.registry import IMPORTERS

        for row in IMPORTERS:
            print(f"{row.name:20}{row.title}")
        parser.exit()


@contextlib.contextmanager
def removed_if_empty(folder: Path) -> Iterator[None]:
    """After a failure, removes a folder and its new parents, unless they have files."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for each in new:
                each.rmdir()
        raise


def run(arguments: argparse.Namespace) -> int:
    from tensortap.importers.importing import import_source
    from tensortap.storage.uri import is_address
    from tensortap.system.temp_dirs import temp_folder

    with (
        progress_line("importing", quiet=arguments.json) as advance,
        temp_folder() as folder,
    ):
        source = Path(arguments.source)
        if is_address(arguments.source):
            source = RemoteCopier(folder, arguments.max_bytes, advance).fetch(arguments.source)
        with removed_if_empty(arguments.logdir):
            found = import_source(
                source,
                arguments.logdir,
                arguments.run_name,
                arguments.format,
                advance,
                unpacked=arguments.max_unpacked,
            )
    if arguments.json:
        print_json(asdict(found))
        return 0
    what = f"{counted(found.snapshots, 'snapshot')}, {counted(found.graphs, 'graph')}"
    if found.recordings:
        what += f", {counted(found.recordings, 'recording')}"
    console().print(cell(f"{what} in {', '.join(str(arguments.logdir / name) for name in found.runs)}"))
    print_notes(found.notes)
    return 0
