"""Source files that the dump embeds. No path named in a dump is ever opened."""

from __future__ import annotations

from tensortap.core.errors import NotFoundError

from ..run_index import RunIndex


def source(run: RunIndex, file: str) -> str:
    """The text of a source file, by its name in the stacks.

    Raises:
        NotFoundError: no graph of the run embeds it.
    """
    for graph_id in run.recorded_graphs:
        text = run.graph(graph_id).about.get("sources", {}).get(file)
        if text is not None:
            return str(text)
    raise NotFoundError(
        f"The run does not embed {file[:300]!r}.",
        "Embedding of sources is a choice made when the run is captured.",
    )


def source_lines(text: str | None) -> list[str]:
    """The lines of a source text; none if it is not embedded."""
    return text.splitlines() if text else []
