"""`watch.json` in the run's directory: changes the watches of a running job (FORMAT.md, "watch.json")."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tensortap.core.errors import TensortapError
from tensortap.system.user_dirs import open_regular

from ..errors import WatchError
from .watch import MAX_TEXT, Rule, Watch, rules_of, watch_of

FILE = "watch.json"
POLL_SECONDS = 1.0

_Stamp = tuple[int, int, int]


class Change(NamedTuple):
    """The content of a new watch.json: its watches, or the reason why it is rejected. `source`: its author;
    the program, if the file was removed."""

    watches: tuple[Watch, ...] | None
    error: str = ""
    source: str = FILE


class WatchFile:
    """Read between steps, at most once per second. A file from before the job is not obeyed.

    Args:
        run_dir: the run's directory.
        own: the program's own watches; kept by `{"program": true}`, and restored when the file is removed.
    """

    def __init__(self, run_dir: Path, own: Sequence[Watch]) -> None:
        self._path = run_dir / FILE
        self._own = tuple(own)
        self._next_poll = 0.0
        # Its time says little: a file that was made before may be moved here later.
        self._old = self._file_stamp()
        self._seen: _Stamp | None = None
        self._begun: dict[str, int] = {}  # a rule's text -> the step at which it was first read

    def poll(self, step: int) -> Change | None:
        """Returns the change since the last call, if any; `step` is the one about to run."""
        now = time.monotonic()
        if now < self._next_poll:
            return None
        self._next_poll = now + POLL_SECONDS
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        self._seen = stamp
        if stamp is None:
            return Change(self._own, source="program")
        try:
            return Change(self._read(step))
        except TensortapError as error:
            return Change(None, f"{self._path} was ignored. {error.message} {error.hint}".strip())
        except (OSError, UnicodeError) as error:
            return Change(None, f"{self._path} was ignored: it cannot be read: {error}.")

    def _stamp(self) -> _Stamp | None:
        """Differs when the file does; None without a file, or while it is the one from before the job."""
        found = self._file_stamp()
        return None if found == self._old else found

    def _file_stamp(self) -> _Stamp | None:
        try:
            found = os.lstat(self._path)
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self, step: int) -> tuple[Watch, ...]:
        handle = open_regular(self._path, os.O_RDONLY)  # it may have been replaced since `_file_stamp`
        with os.fdopen(handle, encoding="utf-8") as file:
            rules = rules_of(file.read(MAX_TEXT + 1))
        texts = [json.dumps(rule, sort_keys=True) for rule in rules]
        begun = {text: self._begun.get(text, step) for text in texts}
        found = [
            watch
            for number, (rule, text) in enumerate(zip(rules, texts, strict=True), 1)
            for watch in self._watches(rule, f"rule {number}", begun[text])
        ]
        self._begun = begun
        return tuple(dict.fromkeys(found))

    def _watches(self, rule: Rule, where: str, step: int) -> tuple[Watch, ...]:
        if "program" not in rule:
            return (watch_of(rule, where, step),)
        if rule != {"program": True}:
            raise WatchError(f"In {where}: {rule!r} is unknown.", 'Use only {"program": true}.')
        return self._own


def watch_facts(watches: Sequence[Watch], shown: Sequence[Rule], *, source: str) -> dict[str, Any]:
    """The event about the new watches."""
    return {"rules": list(shown), "text": " | ".join(map(repr, watches))[:4000], "source": source}
