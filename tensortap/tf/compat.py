"""Checks at start that TensorFlow has the private names that `internals` uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from tensortap.core.errors import TensortapError


class UnsupportedTensorFlowError(TensortapError, ImportError):
    """The installed TensorFlow lacks something inside that capture needs. Install a supported version."""


SUPPORTED = "2.21"
"""The versions that the tests run with, `2.21.0` and on; other ones are tried if nothing is missing."""


@contextmanager
def imported_from_tensorflow() -> Iterator[None]:
    """Says in a clear sentence that a private module of TensorFlow is not there.

    Raises:
        UnsupportedTensorFlowError: an import in the body failed.
    """
    try:
        yield
    except ImportError as error:
        raise _unsupported(str(error)) from error


def check_names(needed: Mapping[Any, str]) -> None:
    """Looks for private names of TensorFlow.

    Args:
        needed: modules or classes, each with the names that it must have, separated by spaces.

    Raises:
        UnsupportedTensorFlowError: one is missing.
    """
    for owner, names in needed.items():
        for name in names.split():
            if not hasattr(owner, name):
                raise _unsupported(f"{getattr(owner, '__name__', owner)} has no {name}")


def _unsupported(what: str) -> UnsupportedTensorFlowError:
    return UnsupportedTensorFlowError(
        f"tensortap captures from TensorFlow {SUPPORTED}; this is {tf.__version__}, which differs inside:"
        f" {what}.",
        f'Install "tensorflow=={SUPPORTED}.*". Runs that are there can be read without TensorFlow.',
    )
