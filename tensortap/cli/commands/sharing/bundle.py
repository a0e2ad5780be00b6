"""`tensortap bundle`: one recorded step as a file that runs elsewhere, without the model's code."""

from __future__ import annotations

import argparse
import errno
import os
from pathlib import Path
from typing import Any

from tensortap.core.text import bytes_text

from ...argument_types import add_follow_links, local, source
from ...console import cell, console, print_json

HELP = "write one recorded step to a file that replays anywhere, without the model's code"
EXAMPLE = """tensortap bundle logs/digits --step 100 --out step.tapbundle
         tensortap bundle logs/digits --step 100 --out step.tapbundle --script step.py"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_path", type=source, metavar="RUN", help="a run with recordings")
    parser.add_argument("--step", type=int, help="recorded step (default: the last one)")
    parser.add_argument("--call", type=int, help="recorded call within the step (default: the last one)")
    parser.add_argument(
        "--out", type=local, required=True, metavar="FILE", help="the file to write, e.g. step.tapbundle"
    )
    parser.add_argument(
        "--script",
        type=local,
        metavar="FILE",
        help="also write a Python script that runs the step eagerly, with source lines as comments, "
        "e.g. step.py",
    )
    parser.add_argument(
        "--no-graph",
        action="store_true",
        help="omit the graph (layers and source lines)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_follow_links(parser)


def run(arguments: argparse.Namespace) -> int:
    from tensortap.dump.recording.bundle import write_bundle
    from tensortap.replay.locate import locate, open_recording

    if arguments.script is not None:
        _check_new(arguments.out, arguments.script)
    source = locate(arguments.run_path, arguments.step, arguments.call)
    recording = open_recording(source)
    write_bundle(arguments.out, recording, None if arguments.no_graph else _graph(source, recording.graph))
    if arguments.script is not None:
        _write_script(source, arguments.out, arguments.script)
    size = arguments.out.stat().st_size
    if arguments.json:
        print_json({"path": str(arguments.out), "step": recording.step, "bytes": size})
    else:
        out = arguments.out
        text = f"{out}: step {recording.step}, {bytes_text(size)}; replay it: tensortap replay {out}"
        console().print(cell(text))
        if arguments.script is not None:
            console().print(cell(f"{arguments.script}; step through it: python -m pdb {arguments.script}"))
    return 0


def _graph(source: Path, graph_id: str) -> Any:
    """The graph of a recording, from the run or from the bundle."""
    from tensortap.dump.read.runs import RunReader
    from tensortap.dump.recording.bundle import read_bundle_graph

    if not graph_id:
        return None
    return (
        read_bundle_graph(source, graph_id)
        if source.is_file()
        else RunReader(source.parent.parent).graph(graph_id)
    )


def _check_new(bundle: Path, script: Path) -> None:
    """Raises, before anything is written, the errors of writing the script: the file exists
    (FileExistsError), or it is the bundle's (InvalidValueError)."""
    from tensortap.core.errors import InvalidValueError

    if script.absolute() == bundle.absolute():
        raise InvalidValueError(
            "--out and --script are the same file.", "Choose another name for the script."
        )
    if os.path.lexists(script):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(script))


def _from(script: Path, bundle: Path) -> str:
    """The bundle's path from the script's folder, so that both may be moved, and started from anywhere."""
    try:
        return os.path.relpath(bundle.resolve(), script.resolve().parent)
    except ValueError:  # Windows: on another drive
        return str(bundle.resolve())


def _write_script(source: Path, bundle: Path, script: Path) -> None:
    """Raises FileExistsError: the file exists."""
    from tensortap.replay.client import run_replay
    from tensortap.replay.protocol import Request

    options = {"bundle": _from(script, bundle), "script": script.name}
    answer = run_replay(Request(source=str(source), analysis="script", options=options))
    with script.open("x", encoding="utf-8") as file:
        file.write(str((answer.analysis or {})["text"]))
