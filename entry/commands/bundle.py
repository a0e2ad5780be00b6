"""`tensortap bundle`: one recorded step as a file that runs elsewhere, without the model's code."""

from __future__ import annotations

import argparse

from ..arguments import local, source
from ..terminal import bytes_text, cell, console, print_json

HELP = "write one recorded step into a file that replays anywhere, without the model's code"
EXAMPLE = "tensortap bundle logs/digits --step 100 --out step.tapbundle"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_path", type=source, metavar="RUN", help="a run with recordings")
    parser.add_argument("--step", type=int, help="default: the last one that was recorded")
    parser.add_argument("--call", type=int, help="which recorded call of the step; default: the last one")
    parser.add_argument("--out", type=local, required=True, metavar="FILE", help="as in step.tapbundle")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from tensortap.dump import write_bundle
    from tensortap.replay import locate, open_recording

    recording = open_recording(locate(arguments.run_path, arguments.step, arguments.call))
    write_bundle(arguments.out, recording)
    size = arguments.out.stat().st_size
    if arguments.json:
        print_json({"path": str(arguments.out), "step": recording.step, "bytes": size})
    else:
        out = arguments.out
        text = f"{out}: step {recording.step}, {bytes_text(size)}; run it: tensortap replay {out}"
        console().print(cell(text))
    return 0
