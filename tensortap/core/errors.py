"""The errors that tensortap raises on purpose, a class for each failure."""

from __future__ import annotations


class TensortapError(Exception):
    """Base class of all errors that tensortap raises on purpose.

    Attributes:
        hint: how to fix it, a sentence (may be empty).

    Example:
        ```python
        try:
            tensortap.open("no such folder")
        except tensortap.TensortapError as error:
            print(error, error.hint)
        ```
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message} {self.hint}" if self.hint else message

    @property
    def message(self) -> str:
        """The problem as a sentence, without the hint."""
        return super().__str__()


class InvalidNameError(TensortapError):
    """A run, tensor or node name cannot be used. Choose another one."""


class InvalidValueError(TensortapError):
    """An array or step cannot be dumped (an object array, a negative step, …). Convert it first."""


class DumpClosedError(TensortapError):
    """A writer was used after `close()`. Open a new one: files are never reopened."""


class NotARunError(TensortapError):
    """A directory without a readable `run.json`. Pass a run or a directory of runs."""


class RemoteError(TensortapError):
    """An address cannot be read: a package is missing, or the server does not answer. See docs/remote.md."""


class FormatVersionError(TensortapError):
    """The dump was written by a newer tensortap. Upgrade the reader."""


class DamagedError(TensortapError):
    """Bytes of a dump fail their checksum or are invalid. The rest of the dump stays readable."""


class DeniedError(DamagedError):
    """The system denies this user to read a file of a dump. The rest of the dump stays readable."""

    HINT = "Ask the owner of the run for: chmod -R a+rX RUN"

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} cannot be read: permission denied.", self.HINT)
        self._name = name

    def __reduce__(self) -> tuple[type[DeniedError], tuple[str]]:
        return DeniedError, (self._name,)  # with its text, it would be made of that


class ValueNotKeptError(TensortapError):
    """Only the summary of a snapshot is stored. Capture again with `keep="value"`."""


class ValuePrunedError(ValueNotKeptError):
    """A stored value was removed by retention. Its statistics are still available."""


class NotFoundError(TensortapError):
    """No run, graph, node, tensor or snapshot has that name."""


class AmbiguousError(TensortapError):
    """Several snapshots fit. Say which one with `visit=`, `worker=` or `graph=`."""


class SelectionError(TensortapError):
    """A selection or query cannot be parsed or does not fit the tensor's shape."""


class LimitError(TensortapError):
    """A request exceeds the limit in the message. Request a part."""


class TimeLimitError(LimitError):
    """A request takes longer than the limit in the message. Request a part."""


class RemoteReadError(OSError):
    """An address sent no content, or not the requested one. An OSError, like that of a failing disk:
    `filename` is the redacted address, `strerror` describes the response."""


class UnexpectedResponseError(Exception):
    """A web server sent another response than requested. The text only describes the response."""


class UnverifiedWarning(UserWarning):
    """Part of a long value was read from a dump of format 1.0, which has no checksums for parts."""


class IncompleteWarning(UserWarning):
    """Data of a run could not be read, so they are missing in an answer. `tensortap check` lists all
    damage."""
