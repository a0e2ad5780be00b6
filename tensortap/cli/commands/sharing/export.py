"""`tensortap export`: a run, or some of its snapshots, as a file for other people and programs."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tensortap.core.text import bytes_text, counted
from tensortap.importers.remote_copy import staged_output

from ...argument_types import add_engine, chosen_steps, condition, steps, target
from ...console import cell, console, print_json
from ...progress import part_progress
from ...select_run import add_path, only_run, report_damage

if TYPE_CHECKING:
    import numpy as np

    from tensortap.index.run_index import RunIndex

HELP = "write a run, or some of its snapshots, to a file to share or process"
EXAMPLE = "tensortap export logs/digits --out digits.tap.zip"
_SHOWN = 8  # sentences about what was skipped
_SECONDS = 3600.0  # for the viewer's part
_FORMATS = "tap.zip, parquet, csv, npz, safetensors, tensorboard"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "\n".join(
        [
            f"example: {EXAMPLE}       then: tensortap serve digits.tap.zip",
            "  tensortap export logs/digits --out digits.parquet",
            "  tensortap export logs/digits --out bad.csv --where 'nan > 0'",
            "  tensortap export logs/digits --out relu.npz --nodes 'conv1.*/Relu:0' --step 10:20",
            "  tensortap export logs/digits --out weights.safetensors --nodes 'hidden.*Read' --step -1",
            "  tensortap export logs/digits --out s3://bucket/mail/digits.tap.zip",
            "  tensortap export logs/digits --out events --format tensorboard",
        ]
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_path(parser)
    parser.add_argument(
        "--out",
        type=target,
        required=True,
        metavar="FILE",
        help="the file to write (must not exist); a path or s3://…",
    )
    parser.add_argument("--format", metavar="NAME", help=f"{_FORMATS} (default: by the name of FILE)")
    parser.add_argument(
        "--nodes", metavar="REGEX", help="only tensors whose name contains a match (RE2 syntax)"
    )
    parser.add_argument(
        "--step", type=steps, metavar="STEPS", help="only these steps: 7, 3:10, 3:, or -1 for the last one"
    )
    parser.add_argument(
        "--where", type=condition, metavar="CONDITION", help="only snapshots that match, e.g. 'nan > 0'"
    )
    parser.add_argument(
        "--viewer",
        action="store_true",
        help="for a tap.zip: also store data for the static viewer, which needs no server",
    )
    add_engine(parser, of=", for a tap.zip of a whole run (verifies its checksums)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.core.errors import SelectionError
    from tensortap.exporters.registry import exporter_for
    from tensortap.exporters.tap_zip import export_tap_zip
    from tensortap.scale.registry import open_engine
    from tensortap.storage.uri import shown_path

    exporter = exporter_for(arguments.out, arguments.format)
    if arguments.viewer:
        from tensortap.server.app import create_app
        from tensortap.server.story import add_viewer_part, story_of

        if exporter.name != "tap.zip":
            raise SelectionError("--viewer is for .tap.zip files.", "Use a file name ending in .tap.zip.")
    whole = arguments.nodes is None and arguments.step is None and arguments.where is None
    if (arguments.engine or arguments.processes) and not (whole and exporter.name == "tap.zip"):
        raise SelectionError(
            "--engine and --processes only apply to a .tap.zip of a whole run.",
            "Remove them.",
        )
    found = only_run(arguments.path)
    rows = None if whole else _rows(found, arguments)
    if rows is not None and not len(rows):
        report_damage(found)  # there may be such snapshots in what cannot be read
    with ExitStack() as opened:
        export = exporter.export
        if whole and exporter.name == "tap.zip":
            engine = opened.enter_context(open_engine(arguments.engine, arguments.processes))
            export = partial(export_tap_zip, engine=engine)
        out = opened.enter_context(staged_output(arguments.out))
        advance = opened.enter_context(part_progress(f"exporting {exporter.name}"))
        exported = export(found, rows, out, advance)
        if arguments.viewer:
            add_viewer_part(out, story_of(create_app(out), seconds=_SECONDS, advance=advance))
            exported = replace(exported, bytes=out.stat().st_size)
    if arguments.json:
        print_json(
            {
                "path": shown_path(arguments.out),
                "format": exporter.name,
                "snapshots": exported.snapshots,
                "bytes": exported.bytes,
                "left_out": exported.left_out,
            }
        )
        return 0
    page = console()
    what = counted(exported.snapshots, "snapshot")
    page.print(cell(f"{shown_path(arguments.out)}: {what}, {bytes_text(exported.bytes)}"))
    for sentence in exported.left_out[:_SHOWN]:
        page.print(cell(f"  skipped: {sentence}", "yellow"))
    if len(exported.left_out) > _SHOWN:
        page.print(cell(f"  … and {len(exported.left_out) - _SHOWN:,} more (--json lists them)", "yellow"))
    return 0


def _rows(found: RunIndex, arguments: argparse.Namespace) -> np.ndarray[Any, np.dtype[Any]]:
    """The chosen rows of the catalog."""
    from tensortap.index.query.search import Filters, find_rows

    chosen = chosen_steps(found, arguments.step)
    return find_rows(found, Filters(match=arguments.nodes, steps=chosen, where=arguments.where))
