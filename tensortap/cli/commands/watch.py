"""`tensortap watch`: changes the watches of a running job, without a restart."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tensortap.core.errors import InvalidValueError, NotFoundError, TensortapError
from tensortap.dump.format.events import EventsTail
from tensortap.dump.format.run_files import WorkerInfo
from tensortap.dump.read.runs import RunReader
from tensortap.storage.files import publish

from ..argument_types import on_disk, parse_watch_steps
from ..console import cell, console, print_json

HELP = "show or change what a running job captures, without a restart"
EXAMPLE = "tensortap watch logs/digits --nodes dense --keep value --steps 'next 3'"
FILE = "watch.json"
ALL_VISITS = "all"
_POLL_SECONDS = 0.2

Rule = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        f"example: {EXAMPLE}\n         tensortap watch logs/digits --kinds 'gradients of dense_2' "
        "--steps 'every 10'\n         tensortap watch logs/digits --reset\n\nEach call adds a rule "
        "to watch.json in the directory of the run. The job reads this file between steps."
    )
    parser.add_argument(
        "path",
        type=on_disk("jobs that write to a remote address do not read watch.json"),
        metavar="RUN",
        help="directory of the run",
    )
    parser.add_argument("--nodes", metavar="REGEX", type=_pattern, help="capture nodes whose names match")
    parser.add_argument("--exclude", metavar="REGEX", type=_pattern, help="skip nodes whose names match")
    parser.add_argument(
        "--layers", metavar="REGEX", type=_pattern, help="capture nodes of these Keras layers"
    )
    parser.add_argument("--ops", metavar="TYPE", nargs="+", help="op types, e.g. MatMul Relu")
    parser.add_argument(
        "--kinds",
        metavar="KIND",
        nargs="+",
        help="kinds of tensors, e.g. weights 'gradients of dense_2' updates loss",
    )
    parser.add_argument("--dtypes", metavar="DTYPE", nargs="+", help="dtypes, e.g. float16 bfloat16")
    parser.add_argument("--min-size", type=int, metavar="N", help="only tensors with at least N elements")
    parser.add_argument("--max-size", type=int, metavar="N", help="only tensors with at most N elements")
    parser.add_argument(
        "--steps", metavar="STEPS", help="'next 3' (default), 'every 10', 'log 10', 100:200, 5,6,7"
    )
    parser.add_argument("--keep", choices=("summary", "value"), default=None, help="default: summary")
    parser.add_argument("--sample", type=int, metavar="N", help="store at most N elements of a value")
    parser.add_argument(
        "--visits",
        type=_visits,
        metavar="N",
        help="capture at most N iterations of a loop per step, or 'all' (default: 32)",
    )
    parser.add_argument("--only", action="store_true", help="replace the program's rules and earlier ones")
    parser.add_argument("--reset", action="store_true", help="return to the program's own rules")
    parser.add_argument(
        "--wait",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="seconds to wait for the job's answer (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    reader = RunReader(arguments.path)
    rule = _rule(arguments)
    asked = time.time()
    before = list(_watch_events(reader))
    if arguments.reset and rule:
        raise InvalidValueError("--reset cannot be combined with a rule.", "Remove the other options.")
    if rule or arguments.reset:
        _check_running(reader)
    if rule and not arguments.only:
        _check_obeyed(arguments.path / FILE, before[-1] if before else {})
    earlier = _text(arguments.path / FILE)
    if arguments.reset:
        (arguments.path / FILE).unlink(missing_ok=True)
    elif rule:
        rules = [*_rules(arguments.path / FILE, arguments.only), rule]
        publish(arguments.path / FILE, (json.dumps({"rules": rules}, indent=1) + "\n").encode())
    else:
        return _show(arguments, before[-1] if before else None)
    answer = _answer(reader, len(before), asked, arguments.wait)
    if answer is not None and "error" in answer and rule:
        _restore(arguments.path / FILE, earlier)  # or the refused rule would invalidate the next one, too
    return _report(arguments, answer)


def _check_running(reader: RunReader) -> None:
    """Refuses a run that has finished."""
    workers = reader.workers()
    if workers and all(_has_ended(reader, worker) or worker.is_gone for worker in workers):
        raise NotFoundError(
            f"The run {reader.path.name!r} has finished, so no job reads the watch.",
            "Set the watch of the next job: Tap(…, watch=Watch(…)).",
        )


def _check_obeyed(path: Path, latest: dict[str, Any]) -> None:
    """Refuses to add to a file that the job has refused: it would refuse the new rule with it."""
    if "error" in latest and path.exists() and path.stat().st_mtime <= float(latest.get("time", 0)):
        raise InvalidValueError(
            f"The job rejects the existing watch.json: {latest['error']}",
            "Correct the file, replace it with --only, or undo it with --reset.",
        )


def _has_ended(reader: RunReader, worker: WorkerInfo) -> bool:
    tail = reader.tail(worker.worker)
    while tail.poll():
        pass
    return tail.closed


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def _restore(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink(missing_ok=True)
    else:
        publish(path, text.encode())


def _rule(arguments: argparse.Namespace) -> Rule:
    """The rule in the options; empty without any."""
    names = ("nodes", "exclude", "layers", "ops", "kinds", "dtypes", "min_size", "max_size", "keep")
    rule = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.sample is not None:
        rule["sample"] = {"count": arguments.sample}
        rule.setdefault("keep", "value")
    if arguments.visits is not None:
        rule["visits"] = None if arguments.visits == ALL_VISITS else arguments.visits
    if not rule and arguments.steps is None:
        return {}
    now = datetime.now(UTC).isoformat()  # so that asking again for the same is a new question
    return rule | {"steps": parse_watch_steps(arguments.steps or "next 3", asked=now)}


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from error
    return text


def _visits(text: str) -> int | str:
    if text == ALL_VISITS:
        return text
    try:
        visits = int(text)
    except ValueError:
        visits = 0
    if visits < 2:  # the first and the last
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer >= 2 or '{ALL_VISITS}'")
    return visits


def _rules(path: Path, only: bool) -> list[Rule]:
    """The rules to which one is added."""
    if only:
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [{"program": True}]
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"{path} is not JSON: {error}.", "Correct it, or add --only.") from error
    rules = found.get("rules", [found]) if isinstance(found, dict) else found
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise InvalidValueError(f"{path} has no rules.", "Correct it, or add --only.")
    return rules


def _watch_events(reader: RunReader) -> Iterator[dict[str, Any]]:
    """Watch events of the workers, by time."""
    found: list[dict[str, Any]] = []
    for worker in reader.workers():
        tail = EventsTail(reader.path, worker.worker)
        while events := tail.poll():
            found += [event | {"worker": worker.worker} for event in events if event.get("kind") == "watch"]
    yield from sorted(found, key=lambda event: float(event.get("time", 0)))


def _answer(reader: RunReader, known: int, asked: float, wait: float) -> dict[str, Any] | None:
    """The first new answer; None if none came in time."""
    deadline = time.monotonic() + max(wait, 0)
    while True:
        new = list(_watch_events(reader))[known:]
        answers = [event for event in new if float(event.get("time", 0)) >= asked]
        if answers or time.monotonic() >= deadline:
            return answers[0] if answers else None
        time.sleep(_POLL_SECONDS)


def _report(arguments: argparse.Namespace, answer: dict[str, Any] | None) -> int:
    if answer is not None and "error" in answer:
        raise TensortapError(str(answer["error"]))
    if arguments.json:
        print_json({"answer": answer})
        return 0
    if answer is None:
        text = (
            f"Written, but no job answered within {arguments.wait:g} s. A job reads the file between steps."
        )
    else:
        text = f"The job captures from step {answer.get('step')} on: {answer.get('text', '')}"
    console().print(cell(text))
    return 0


def _show(arguments: argparse.Namespace, latest: dict[str, Any] | None) -> int:
    if arguments.json:
        print_json({"watch": latest})
    elif latest is None:
        console().print("No job of this run has reported its watch.")
    elif "error" in latest:
        console().print(cell(latest["error"]))
    else:
        source = "the program" if latest.get("source") == "program" else FILE
        text = f"From step {latest.get('step')} on, by {source}: {latest.get('text')}"
        console().print(cell(text))
    return 0
