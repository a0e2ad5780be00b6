"""Packages that only some people have: imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, purpose: str, install: str) -> Any:
    """An optional package's module.

    Raises:
        ImportError: it is not installed; the text says how to.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {package}, which is not installed: pip install {install}", name=package
        ) from error
