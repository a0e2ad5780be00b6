"""The failures of importers."""

from __future__ import annotations

from tensortap.core.errors import TensortapError


class RefusedError(TensortapError):
    """A source cannot be imported: it is damaged, exceeds a limit, or contains code."""


class UnknownFormatError(TensortapError):
    """No importer knows the source. docs/import.md lists those that there are."""


class MissingReaderError(TensortapError):
    """A format needs a library that is not installed; the hint names it."""
