"""Failures that capture reports before training starts, and the warning it gives while training runs."""

from __future__ import annotations

from tensortap.core.errors import TensortapError


class WatchError(TensortapError):
    """An argument of `Watch`, `every` or `Tap` is invalid. The message names it and what fits."""


class ChoiceFailedError(TensortapError):
    """A callable that was given to `Watch` raised; the message says which one, and on which node."""


class TapClosedError(TensortapError):
    """A tap was used after `close()`. Make a new one, or close it later."""


class TapWarning(UserWarning):
    """A tensor or function was not captured. Training itself went on."""
