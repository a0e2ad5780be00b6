"""Records of measurements in `results/`: what a figure was, next to its limit and the figures of peers.

Another checkout can be measured in turn with this one (`--before`): then "before" is measured there.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from _table import print_table

RESULTS = Path(__file__).parent / "results"


class Figure(NamedTuple):
    """A figure of a benchmark; all are CPU times or ratios of them, so that smaller is better.

    `limit`: what the machine or TensorFlow alone takes for the same. `peer`: what another tool takes.
    """

    name: str
    unit: str
    now: float
    limit: float | None = None
    peer: float | None = None


def add_before(parser: ArgumentParser) -> None:
    """The option for another checkout to compare with."""
    parser.add_argument(
        "--before", type=Path, metavar="TREE", help="also measure the tensortap of this checkout, in turn"
    )


def turns(before: Path | None) -> list[Path | None]:
    """Whose package is measured in which order; None is this checkout."""
    return [None] if before is None else [before, None, before, None]


def environment_of(tree: Path | None) -> dict[str, str]:
    """The environment of a process that imports the package of a checkout; None is this one.

    Raises:
        FileNotFoundError: there is none.
    """
    if tree is None:
        return dict(os.environ)
    if not (tree / "tensortap" / "__init__.py").is_file():
        raise FileNotFoundError(f"{tree} is not a checkout of tensortap.")
    paths = [str(tree.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def report(
    benchmark: str,
    figures: Sequence[Figure],
    path: Path | None,
    before: Mapping[str, float] | None = None,
    *,
    adds: bool = False,
) -> None:
    """Prints limit, peer, before and now; writes a record if there is a path.

    `before`: figures of another checkout by name; those of the last record if None. `adds`: other figures of
    the file stay.
    """
    if before is None:
        before = recorded(benchmark)
    rows = [
        [
            figure.name,
            figure.unit,
            *(_shown(number) for number in (figure.limit, figure.peer, before.get(figure.name), figure.now)),
        ]
        for figure in figures
    ]
    print_table(f"{benchmark}: CPU", ("", "unit", "limit", "peer", "before", "now"), rows)
    if path is not None:
        record = {figure.name: {**figure._asdict()} for figure in figures}
        for entry in record.values():
            del entry["name"]
        if adds and path.exists():
            record = json.loads(path.read_text(encoding="utf-8")) | record
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def recorded(benchmark: str, folder: Path = RESULTS) -> dict[str, float]:
    """The figures of a record by name; none where there is no record."""
    path = folder / f"{benchmark}.json"
    if not path.exists():
        return {}
    return {name: entry["now"] for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def orders_apart(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """Figures of a record that are missing now, or more than ten times as large."""
    return [name for name, figure in before.items() if not now.get(name, float("inf")) <= 10 * figure]


def _shown(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"
