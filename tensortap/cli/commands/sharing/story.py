"""`tensortap story`: a run as one HTML file that needs no server."""

from __future__ import annotations

import argparse

from tensortap.core.text import bytes_text
from tensortap.importers.remote_copy import staged_output

from ...argument_types import chosen_steps, source, steps, target
from ...console import cell, console, print_json
from ...progress import part_progress
from ...select_run import add_path, only_run

HELP = "write a run as one HTML file: graph, NaN path, histograms, values and source, without a server"
EXAMPLE = "tensortap story logs/digits-nan --out digits-nan.html"
_SECONDS = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "\n".join(
        [
            f"example: {EXAMPLE}",
            "  tensortap story logs/digits --step 20:30 --tensor digits_1/conv1_1/Relu:0 --out part.html",
            "  tensortap story logs/digits-nan --compare logs/digits --out compared.html",
            (
                "The file contains source code, file names and values of the run: review it before you "
                "publish it."
            ),
        ]
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add_path(parser)
    parser.add_argument(
        "--out", type=target, required=True, metavar="FILE", help="the file to write (must not exist)"
    )
    parser.add_argument(
        "--step",
        type=steps,
        metavar="STEPS",
        help="steps to store: 7, 3:10, 3:, or -1 for the last (default: about 16, including the first "
        "with NaN or Inf)",
    )
    parser.add_argument(
        "--tensor", action="append", default=[], metavar="NAME", help="store this tensor first; repeatable"
    )
    parser.add_argument(
        "--compare", type=source, metavar="RUN", help="also store the comparison with this run"
    )
    parser.add_argument(
        "--max-mb",
        type=int,
        default=24,
        metavar="MB",
        help="maximum size; the rest is skipped and listed (default: 24)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.core.errors import InvalidNameError
    from tensortap.importers.resolve import as_logdir
    from tensortap.index.query.step_range import parse_steps
    from tensortap.index.query.tensor_lookup import tensor_codes
    from tensortap.server.app import create_app
    from tensortap.server.story import story_html, story_of

    if not arguments.out.name.endswith((".html", ".htm")):
        raise InvalidNameError(
            f"{arguments.out.name!r} is not the name of an HTML file.", "Use a name ending in .html."
        )
    found = only_run(arguments.path)
    other = None if arguments.compare is None else only_run(arguments.compare)
    if other is not None and other.path == found.path:
        raise InvalidNameError(f"--compare is the same run as RUN ({found.name!r}).", "Pass another run.")
    names = found.catalog.tensors.names
    tensors = [names[code] for name in arguments.tensor for code in tensor_codes(found.catalog, name)]
    held = None
    if arguments.step is not None:
        held = parse_steps(chosen_steps(found, arguments.step)).of(found.steps.step).tolist()
    with staged_output(arguments.out) as out, part_progress("recording") as advance:
        story = story_of(
            create_app([as_logdir(path) for path in (arguments.path, arguments.compare) if path is not None]),
            found.id,
            None if other is None else other.path,
            steps=held,
            tensors=tensors,
            max_bytes=arguments.max_mb * 10**6,
            seconds=_SECONDS,
            advance=advance,
        )
        with out.open("x", encoding="utf-8", newline="\n") as file:
            file.write(story_html(story))
        size = out.stat().st_size
    if arguments.json:
        left_out = story["left_out"]
        print_json({"path": str(arguments.out), "run": found.name, "bytes": size, "left_out": left_out})
        return 0
    console().print(cell(f"{arguments.out}: {bytes_text(size)}"))
    for sentence in story["left_out"]:
        console().print(cell(f"  skipped: {sentence}", "yellow"))
    return 0
