"""Lines of the user's program: which nodes each made, and the texts that the dump embeds.

No path named in a dump is ever opened.
"""

from __future__ import annotations

from dataclasses import dataclass

from tensortap.core.errors import NotFoundError

from ..run_index import RunIndex

MAX_FRAMES = 64  # of a stack that are read


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that stacks name, and whether the dump embeds its text."""

    file: str
    embedded: bool


@dataclass(frozen=True, slots=True)
class SourceStack:
    """A stack that nodes share. `frames`: [number of the file, line] from the outermost to the innermost;
    `nodes`: rows in the graph."""

    frames: list[tuple[int, int]]
    nodes: list[int]


@dataclass(frozen=True, slots=True)
class SourceMap:
    """The files of a graph's program in the order of their first frame, and the stacks of its nodes."""

    files: list[SourceFile]
    stacks: list[SourceStack]


def source_map(run: RunIndex, graph: str) -> SourceMap:
    """The lines of the program that created the nodes of a graph.

    Raises:
        NotFoundError: the run has no such graph.
    """
    found = run.graph(graph)
    stacks = found.about.get("stacks", [])
    numbers = [] if found.table is None else found.table.column("stack").to_pylist()
    rows: dict[int, list[int]] = {}
    for row, number in enumerate(numbers):
        if number is not None and 0 <= number < len(stacks) and stacks[number]:
            rows.setdefault(number, []).append(row)
    files: dict[str, int] = {}
    shared = [
        SourceStack(
            [(files.setdefault(file, len(files)), line) for file, line, _ in stacks[number][:MAX_FRAMES]], of
        )
        for number, of in rows.items()
    ]
    sources = found.about.get("sources", {})
    return SourceMap([SourceFile(file, file in sources) for file in files], shared)


def embedded_source(run: RunIndex, file: str) -> str:
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
        "Capture with source embedding to store it.",
    )


def source_lines(text: str | None) -> list[str]:
    """The lines of a source text; empty if it is not embedded."""
    return text.splitlines() if text else []
