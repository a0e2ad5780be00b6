"""Errors that capture raises before training starts, and its warning during training."""

from __future__ import annotations

from tensortap.core.errors import TensortapError


class WatchError(TensortapError):
    """An argument of `Watch`, `every` or `Tap` is invalid. The message has its name and the valid values."""


class ChoiceFailedError(TensortapError):
    """A callable passed to `Watch` raised; the message names the callable and the node."""


class TapClosedError(TensortapError):
    """A tap was used after `close()`. Make a new one, or close it later."""


class TapWarning(UserWarning):
    """A tensor or function was not captured. Training itself continued."""
