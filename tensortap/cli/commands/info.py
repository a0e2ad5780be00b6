"""`tensortap info`: when and where a run was captured, its workers, graphs, events, and batch samples."""

from __future__ import annotations

import argparse
import json
import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tensortap.core.text import bytes_text, counted
from tensortap.storage.filesystem import directory_size
from tensortap.storage.uri import shown_path

from ..console import cell, console, plain_table, print_json
from ..select_run import add_path, only_run, report_damage

if TYPE_CHECKING:
    from rich.console import Console

    from tensortap.index.run_events import RunEvent
    from tensortap.index.run_index import RunIndex

HELP = "show facts about a run: date, host, versions, workers, graphs"
EXAMPLE = "tensortap info logs/digits; tensortap info logs/digits --batch 57"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser)
    parser.add_argument("--batch", type=int, metavar="STEP", help="list the samples in the batch of a step")
    parser.add_argument("--saw", metavar="FILE", help="list the steps whose batch had samples from a file")
    parser.add_argument("--saw-id", metavar="ID", help="list the steps whose batch had this sample")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    found = only_run(arguments.path)
    if arguments.batch is not None or arguments.saw is not None or arguments.saw_id is not None:
        report_damage(found)
        return print_samples(found, arguments)
    facts = _facts(found)
    if arguments.json:
        print_json(facts)
        return 0
    out = console()
    created = datetime.fromtimestamp(found.created, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    out.print(cell(found.name, "bold"))
    out.print(f"created {created}, {counted(facts['snapshots'], 'snapshot')}, {bytes_text(facts['bytes'])}")
    for key, value in found.info.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if key == "command" and isinstance(value, list):
            text = shlex.join(map(str, value))
        out.print(cell(f"  {key}: {text}"))
    _print_workers(out, found)
    _print_graphs(out, found)
    print_events(out, found)
    return 0


def _facts(found: RunIndex) -> dict[str, Any]:
    steps = found.steps
    return {
        "name": found.name,
        "path": shown_path(found.path),
        "created": found.created,
        "info": found.info,
        "bytes": directory_size(found.path),
        "snapshots": found.overview().snapshots,
        "tensors": len(found.tensors),
        "steps": steps.step,
        "workers": list(found.workers),
        "graphs": list(found.graphs),
        "events": found.events.events(),
        # After the graphs, which are read for their counts.
        "damage": found.missing_data,
    }


def _print_workers(out: Console, found: RunIndex) -> None:
    table = plain_table("worker", "rank", "snapshots", "dropped", "state", numeric=("snapshots", "dropped"))
    for worker in found.workers:
        state = "closed" if worker.closed else "live" if worker.live else "not closed"
        rank = "" if worker.rank is None else str(worker.rank)
        table.add_row(cell(worker.id), rank, f"{worker.snapshots:,}", f"{worker.dropped:,}", state)
    out.print()
    out.print(table)
    for sentence in found.missing_data:
        out.print(cell(sentence, "red"))


def _print_graphs(out: Console, found: RunIndex) -> None:
    columns = ("nodes", "edges", "functions", "snapshots", "non-finite")
    table = plain_table("graph", *columns, numeric=columns)
    for graph in found.graphs:
        counts = (graph.nodes, graph.edges, graph.functions, graph.snapshots, graph.nonfinite)
        texts = ("unknown" if count is None else f"{count:,}" for count in counts)
        table.add_row(cell(graph.name or graph.id), *texts)
    out.print()
    out.print(table)


_SHOWN = 20  # samples, steps and events; --json prints all


def print_events(out: Console, found: RunIndex) -> None:
    """Prints fired triggers, changed watches, and warnings about tensors that were not captured."""
    events = found.events.events()
    fired = [event for event in events if event.kind == "trigger"]
    changed = [event for event in events if event.kind == "watch" and event.facts.get("source") != "program"]
    unseen = [event for event in events if event.kind == "unseen"]
    raised = [event for event in events if event.kind == "raised"]
    titled = (("triggers", fired), ("watch.json", changed), ("not captured", unseen), ("raised", raised))
    for title, some in titled:
        if some:
            out.print()
            out.print(cell(title, "bold"))
        for event in some[-_SHOWN:]:
            out.print(
                cell(f"  step {event.step}: {_sentence(event)}", "red" if "error" in event.facts else "")
            )


def _sentence(event: RunEvent) -> str:
    facts = event.facts
    if event.kind in ("watch", "unseen"):
        return str(facts.get("error") or facts.get("text", ""))
    if event.kind == "raised":
        return f"{facts.get('error', '')}" + (f" (in {facts['node']})" if facts.get("node") else "")
    parts = [f"{facts.get('trigger')}: {facts.get('reason')}."]
    source = facts.get("source")
    if isinstance(source, list) and len(source) == 3:
        parts.append(f"{source[0]}:{source[1]} ({source[2]}).")
    first = facts.get("first_step")
    if isinstance(first, int) and event.step is not None and first < event.step:
        parts.append(f"The steps before it are stored, from step {first} on.")
    return " ".join([*parts, *(["It ended training."] if facts.get("stops") is True else [])])


def print_samples(found: RunIndex, arguments: argparse.Namespace) -> int:
    """Answers `--batch`, `--saw` and `--saw-id`."""
    if arguments.batch is not None:
        return _print_batch(found, arguments.batch, arguments.json)
    steps = found.events.steps_of(id=arguments.saw_id, file=arguments.saw)
    if arguments.json:
        print_json({"steps": steps})
        return 0
    more = f" and {len(steps) - _SHOWN} more" if len(steps) > _SHOWN else ""
    text = (
        f"{counted(len(steps), 'step')}: {', '.join(map(str, steps[:_SHOWN]))}{more}" if steps else "no step"
    )
    console().print(cell(text))
    return 0


def _print_batch(found: RunIndex, step: int, as_json: bool) -> int:
    batches = found.events.batches(step)
    if as_json:
        print_json({"step": step, "batches": batches})
        return 0
    out = console()
    if not batches:
        out.print(cell(f"Samples of step {step} were not recorded."))
    for batch in batches:
        out.print(cell(f"step {step}, worker {batch.worker}: {counted(batch.count, 'sample')}"))
        table = plain_table("id", "file")
        rows = max(len(batch.ids or ()), len(batch.files or ()))
        for row in range(min(rows, _SHOWN)):
            table.add_row(
                *(
                    cell(texts[row] if texts and row < len(texts) else "")
                    for texts in (batch.ids, batch.files)
                )
            )
        out.print(table)
        if rows > _SHOWN:
            out.print(f"… {rows - _SHOWN} more; --json prints all")
    return 0
