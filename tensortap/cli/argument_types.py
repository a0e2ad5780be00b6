"""Types of command line arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path


def source(text: str) -> Path:
    """A path, or an address that fsspec knows (`s3://bucket/logs`) as the path that stands for it."""
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
    return on_disk("this works on a disk only")(text)


def on_disk(why: str) -> Callable[[str], Path]:
    """A path of a disk. `why`: a sentence about what is at an address, without its end."""

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


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def size(text: str) -> int:
    """`2G` -> bytes; K, M, G and T are powers of 1,024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write 500M or 2G")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def condition(text: str) -> str:
    """A condition on snapshots, as in "nan > 0"."""
    from tensortap.core.errors import SelectionError
    from tensortap.index.query.filter_parser import parse_predicate

    try:
        parse_predicate(text)
    except SelectionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def column(text: str) -> str:
    """A column that snapshots are sorted by."""
    from tensortap.index.query.sorting import SORT_COLUMNS

    if text not in SORT_COLUMNS:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is no column; use one of {', '.join(SORT_COLUMNS)}")
    return text


def natural(text: str) -> int:
    """A number from 0 on, of at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """A number from 1 on, of at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)
