"""Types of command line arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensortap.core.errors import SelectionError

if TYPE_CHECKING:
    from tensortap.index.run_index import RunIndex

_SIZE = re.compile(r"(\d{1,15}(?:\.\d*)?|\.\d+) *(?:([KMGT])(i?))?B?", re.ASCII | re.IGNORECASE)
_STEPS = re.compile(r"-?\d{1,18}|\d{0,18}:\d{0,18}", re.ASCII)
_WORD = re.compile(r"(next|every|log)\s+(\d{1,18})")
_RANGE = re.compile(r"(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?")
_KEYS = {"every": "every", "log": "per_decade"}


def add_follow_links(parser: argparse.ArgumentParser) -> None:
    """The option that `main.dispatch` applies before the command runs."""
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="follow symbolic links in the directory, even if they lead out of it",
    )


def add_engine(parser: argparse.ArgumentParser, of: str = "") -> None:
    """The options that `tensortap.scale.registry.open_engine` takes. `of`: the option that they belong to."""
    parser.add_argument(
        "--engine",
        default="",
        metavar="ENGINE",
        help=f"where the work runs{of}: local (default), dask (a cluster on this machine), or "
        "dask://host:port",
    )
    parser.add_argument(
        "--processes",
        type=int,
        metavar="N",
        help=f"local processes{of} (default: one per core, at most one per 2 GB of available memory)",
    )


def source(text: str) -> Path:
    """A path; an address that fsspec supports (`s3://bucket/logs`) becomes the path that represents it."""
    if "://" not in text:
        return Path(text)
    from tensortap.core.errors import RemoteError
    from tensortap.storage.uri import path_of

    try:
        return path_of(text)
    except RemoteError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def target(text: str) -> Path:
    """A path that is written to, or an address that can be (`s3://bucket/run.tap.zip`)."""
    if "://" not in text:
        return Path(text)
    from tensortap.core.errors import RemoteError
    from tensortap.storage.uri import target_path

    try:
        return target_path(text)
    except RemoteError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def local(text: str) -> Path:
    """A path that is written to, or that is a single file: no address."""
    return on_disk("only local paths work here")(text)


def on_disk(why: str) -> Callable[[str], Path]:
    """A path on disk. `why`: a sentence about addresses, without its end."""

    def parse(text: str) -> Path:
        if "://" not in text:
            return Path(text)
        from tensortap.core.errors import RemoteError
        from tensortap.storage.uri import local_path

        try:
            return local_path(text, why)
        except RemoteError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def size(text: str, unit: str = "") -> int:
    """`2G` -> bytes, in units of 1,000 as sizes are printed, or of 1,024: `2GiB`. `unit`: without one."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a size; write 500MB, 2GB or 2GiB")
    power = " KMGT".index((match[2] or unit or " ").upper())
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def memory_size(text: str) -> int:
    """A size above 0, in GB without a unit."""
    count = size(text, "G")
    if not 0 < count <= 10**15:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a size of memory; write 0.5 (GB) or 500MB")
    return count


def condition(text: str) -> str:
    """A condition on snapshots, as in "nan > 0"."""
    from tensortap.core.errors import SelectionError
    from tensortap.index.query.filter_parser import parse_predicate

    try:
        parse_predicate(text)
    except SelectionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def pattern(text: str) -> str:
    """A pattern of names, in RE2's syntax."""
    from tensortap.index.query.filter_expressions import match_names

    try:
        match_names(text, [""])
    except SelectionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def column(text: str) -> str:
    """A column that snapshots are sorted by."""
    from tensortap.index.query.sorting import SORT_COLUMNS

    if text not in SORT_COLUMNS:
        raise argparse.ArgumentTypeError(
            f"{text[:80]!r} is not a column; use one of {', '.join(SORT_COLUMNS)}"
        )
    return text


def natural(text: str) -> int:
    """A number from 0 on, of at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer >= 0")
    return int(text)


def positive(text: str) -> int:
    """A number from 1 on, of at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer >= 1")
    return int(text)


def steps(text: str) -> str:
    """An argparse type: one step, a range with an excluded end, or a step from the end."""
    if _STEPS.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a step; write 7, 3:10, 3:, or -1 for the last one")
    return text


def chosen_steps(run: RunIndex, text: str | None) -> int | str | None:
    """The steps for a filter, which does not count from the end. Raises NotFoundError: there are fewer
    steps."""
    from tensortap.index.query.step_range import step_from_end

    if text is None or not text.startswith("-"):
        return text
    return step_from_end("The run", run.steps.step.tolist(), int(text))


def only_step(tensor: str, text: str | None) -> int | None:
    """One step, counted from the end if it is negative. Raises SelectionError: it is a range of steps."""
    if text is not None and ":" in text:
        raise SelectionError(
            f"{tensor!r} can be shown at one step only, not at {text!r}.",
            "Pass one step; 'tensortap show RUN --match REGEX --step 3:10' lists snapshots of several steps.",
        )
    return None if text is None else int(text)


def parse_watch_steps(text: str, asked: str = "") -> list[Any]:
    """The `steps` of a rule in watch.json; several parts are joined by commas.

    Args:
        asked: time of the request, which makes each `next 3` a new request.

    Raises:
        SelectionError: it cannot be parsed.
    """
    return [_part(part.strip(), asked) for part in text.split(",")]


def _part(part: str, asked: str) -> Any:
    if match := _WORD.fullmatch(part):
        word, number = match[1], int(match[2])
        if word == "next":
            return {"next": number, "asked": asked}
        return {_KEYS[word]: number}
    if match := _RANGE.fullmatch(part):
        return {"range": [int(number) for number in match.groups() if number is not None]}
    if part.isascii() and part.isdigit() and len(part) <= 18:
        return int(part)
    raise SelectionError(
        f"Invalid step selection {part!r}.",
        "Use 'next 3', 'every 10', 'log 10', 100:200, 100:200:5 or 5,6,7.",
    )
