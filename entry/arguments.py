"""Types of command line arguments."""

from __future__ import annotations

import argparse
from pathlib import Path


def source(text: str) -> Path:
    """A path, or an address that fsspec knows (`s3://bucket/logs`) as the path that stands for it."""
    if "://" not in text:
        return Path(text)
    from tensortap.dump import RemoteError, path_of

    try:
        return path_of(text)
    except RemoteError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def local(text: str) -> Path:
    """A path that is written to, or that is a single file: no address."""
    if "://" not in text:
        return Path(text)
    from tensortap.dump import RemoteError, local_path

    try:
        return local_path(text)
    except RemoteError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def natural(text: str) -> int:
    """A number from 0 on, of at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)
