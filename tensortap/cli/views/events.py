"""What happened to a run, as text: triggers, watches, which samples fed which step."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tensortap.core.text import counted

from ..console import cell, console, plain_table, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from tensortap.index.run_events import RunEvent
    from tensortap.index.run_index import RunIndex

_SHOWN = 20  # samples, steps and events; --json prints all


def print_events(out: Console, found: RunIndex) -> None:
    """The triggers that fired, the watches that were changed, and what could not be captured."""
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
        parts.append(f"The steps before it are there from {first} on.")
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
        out.print(cell(f"Of step {step} it was not noted which samples fed it."))
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
