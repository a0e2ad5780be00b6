"""Types of command line arguments."""

from __future__ import annotations

import argparse


def natural(text: str) -> int:
    """A number from 0 on, of at most 18 digits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)
