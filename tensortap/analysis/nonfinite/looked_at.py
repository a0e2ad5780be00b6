"""Which steps of a run an answer speaks of, and which it does not."""

from __future__ import annotations

from tensortap.dump.recording.files import find_recordings
from tensortap.index.run_index import RunIndex

from ..raised_steps import raised_steps

_NAMED = 4  # recorded steps that are named
_TOLD = 5  # sentences about what was not captured


def looked_at(run: RunIndex) -> str:
    """Which steps were captured, that others were not looked at, which of them were recorded, and which
    raised."""
    return " ".join([*raised_steps(run), _looked_at(run)])


def _looked_at(run: RunIndex) -> str:
    steps = run.steps.step.tolist()
    if not steps:
        why = next(iter(unseen(run)), "")
        if not why:
            return "No step was captured yet."
        return why if why.startswith("Nothing was captured") else f"No step was captured. {why}"
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        text = f"Only step {first} was captured: other steps were not looked at."
    elif last - first + 1 == len(steps):
        text = f"Steps {first} to {last} were captured: others were not looked at."
    else:
        text = f"{len(steps):,} steps from {first} to {last} were captured: those between, before and after"
        text += " were not looked at."
    captured = set(steps)
    recorded = sorted({place.step for place in find_recordings(run.path)} - captured)
    if not recorded:
        return text
    named = ", ".join(map(str, recorded[:_NAMED])) + (", …" if len(recorded) > _NAMED else "")
    return f"{text} Recorded, not captured: {named} ('tensortap replay' runs them again)."


def unseen(run: RunIndex) -> list[str]:
    """What the program was told that it could not have captured, each with the way out; at most 5."""
    texts = (str(event.facts.get("text", "")) for event in run.events.events("unseen"))
    return list(filter(None, dict.fromkeys(texts)))[:_TOLD]


def out_of_sight(run: RunIndex) -> frozenset[str]:
    """The functions of its graphs inside of which nothing is captured: XLA compiles what calls them."""
    named = (event.facts.get("functions") for event in run.events.events("unseen"))
    return frozenset(str(name) for names in named if isinstance(names, list) for name in names)
