"""Steps that ended by an error of the program."""

from __future__ import annotations

from tensortap.index.run_index import RunIndex

_TOLD = 5


def raised_steps(run: RunIndex) -> list[str]:
    """The last 5 of them, a sentence each: the node that TensorFlow names, and the error."""
    sentences = []
    for event in run.events.events("raised")[-_TOLD:]:
        node = event.facts.get("node")
        where = f" in {node}" if node else ""
        sentences.append(f"Step {event.step} raised{where}: {str(event.facts.get('error', '')).rstrip('.')}.")
    return sentences
