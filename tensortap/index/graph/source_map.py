"""Which nodes of a graph each line of the user's program made."""

from __future__ import annotations

from dataclasses import dataclass

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
    """Where in the program the nodes of a graph were made.

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
