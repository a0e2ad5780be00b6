"""Sentences that several analyses add to an answer: steps covered, steps that raised, missing values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tensortap.index.missing_values import no_value
from tensortap.index.query.search import snapshots
from tensortap.index.run_index import RunIndex

_MAX_EVENTS = 5
_NOTHING = "Nothing was captured"  # begins the warnings that explain why there is no step at all
_NAMED = 4  # recorded steps that are named


def raised_steps(run: RunIndex, step: int | None = None) -> list[str]:
    """The last 5, of all or of a step, a sentence each: the node that TensorFlow names, and the error."""
    events = [event for event in run.events.events("raised") if step is None or event.step == step]
    sentences = []
    for event in events[-_MAX_EVENTS:]:
        node = event.facts.get("node")
        where = f" in {node}" if node else ""
        sentences.append(f"Step {event.step} raised{where}: {str(event.facts.get('error', '')).rstrip('.')}.")
    return sentences


def missing_from(*runs: RunIndex) -> list[str]:
    """What could not be read of runs, and is missing in an answer: sentences, with the names of several runs.

    To be called once all that the answer needs was read: graphs are read when they are needed."""
    different = list(dict.fromkeys(runs))
    names = [f"{run.name}: " if len(different) > 1 else "" for run in different]
    return [name + text for name, run in zip(names, different, strict=True) for text in run.damage]


def missing_elements_note(run: RunIndex, tensor: str, graph: str, step: int) -> str | None:
    """Why the offending elements of a tensor at a step cannot be shown; None where its value is there."""
    missing = snapshots(run, tensor=tensor, graph=graph, steps=step, kept=False, limit=1).rows
    if not missing:
        return None
    if missing[0].no_value == "summary":
        return 'Only summaries were stored. Capture with Watch(keep="value") to see the offending elements.'
    happened, why, fix = no_value(missing[0].no_value, run.catalog.source)
    text = f"The offending elements cannot be shown: the value of {tensor} is {happened} ({why})."
    return f"{text} {fix}".rstrip()


def missing_values_note(a: Sequence[str], b: Sequence[str]) -> str:
    """Note on tensors compared by their summaries: why, and what to capture.

    Args:
        a, b: `Snapshot.no_value` of both sides, empty where the value is there.
    """
    sides = {name: Counter(filter(None, codes)) for name, codes in (("A", a), ("B", b))}
    others = [
        f"{_counts_text(codes)} in {name}" for name, codes in sides.items() if codes.keys() - {"summary"}
    ]
    asked = [name for name, codes in sides.items() if "summary" in codes]
    text = f"Values are missing: {'; '.join(others)}." if others else ""
    if asked:
        where = "both runs" if len(asked) == 2 else asked[0]
        text += f' Capture with Watch(keep="value") in {where} for exact results.'
    return text.strip()


def missing_pair_text(a: str, b: str) -> str:
    """Why two values cannot be compared element by element, by `Snapshot.no_value` of each: sentences."""
    if not a and not b:
        return "Values above 64 MiB or unreadable values are compared by their summaries."
    return missing_values_note([a], [b])


def _counts_text(codes: Counter[str]) -> str:
    """`3 pruned, 1 not in the imported data`."""
    words = Counter[str]()
    for code, count in codes.items():
        words["not in the imported data" if code == "source" else no_value(code, "").happened] += count
    return ", ".join(f"{count:,} {word}" for word, count in words.most_common())


def coverage_note(run: RunIndex) -> str:
    """Which steps were captured, that others were not, which of them were recorded, and which
    raised."""
    return " ".join([*raised_steps(run), _captured_steps_text(run)])


def _captured_steps_text(run: RunIndex) -> str:
    steps = run.steps.step.tolist()
    if not steps:
        why = next(iter(uncaptured_reasons(run)), "")
        if not why:
            return "No step was captured yet."
        return why if why.startswith(_NOTHING) else f"No step was captured. {why}"
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        text = f"Only step {first} was captured."
    elif last - first + 1 == len(steps):
        text = f"Steps {first} to {last} were captured."
    else:
        text = f"Only {len(steps):,} steps between {first} and {last} were captured."
    recordings = run.recordings()
    readable = {place.step for place, note in recordings if not note.damage}
    damaged = {place.step for place, note in recordings if note.damage} - readable
    if uncaptured := readable.difference(steps):
        text += f" Recorded, not captured: {_named(uncaptured)} (see 'tensortap replay')."
    if damaged:
        text += f" Damaged recordings: {_named(damaged)} (see 'tensortap check')."
    return text


def _named(steps: set[int]) -> str:
    return ", ".join(map(str, sorted(steps)[:_NAMED])) + (", …" if len(steps) > _NAMED else "")


def uncaptured_reasons(run: RunIndex) -> list[str]:
    """Reasons why tensors were not captured, as the program was warned, each with the fix; at most 5. Those
    that explain a run without any snapshot come first. Warnings about recordings are skipped."""
    events = [event for event in run.events.events("unseen") if event.facts.get("about") != "record"]
    texts = dict.fromkeys(text for event in events if (text := str(event.facts.get("text", ""))))
    return sorted(texts, key=lambda text: not text.startswith(_NOTHING))[:_MAX_EVENTS]


def uncaptured_functions(run: RunIndex) -> frozenset[str]:
    """The functions of its graphs inside which nothing is captured: XLA compiles what calls them."""
    named = (event.facts.get("functions") for event in run.events.events("unseen"))
    return frozenset(str(name) for names in named if isinstance(names, list) for name in names)
