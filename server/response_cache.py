"""Answers that many who look at one run ask for: made once as long as the run does not change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from flask import Flask, Response, current_app, request

from tensortap.core.deadline import check_time
from tensortap.index.run_index import RunIndex

from .log_reader import current_run
from .responses.responses import GZIP_FROM, KeptReply, kept_reply

_KEY = "tensortap-shared"
_KEPT = 256  # answers
_KEPT_BYTES = 32 << 20  # of all, packed, and of their addresses
_LONGEST = 8 << 10  # bytes of an address; the page's own are far shorter
View = Callable[..., Response]


@dataclass(slots=True, eq=False)
class _Answer:
    """`state`: of the run that it is made of. `lock`: held while it is made."""

    state: tuple[int, ...]
    made: KeptReply | tuple[bytes, str] | None = None
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Answers:
    """The last ones, by address; none of those that failed."""

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, _Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, address: bytes, state: tuple[int, ...], make: Callable[[], Response]) -> Response:
        """The answer; whoever asks while it is made waits for it."""
        answer = self._find(address, state)
        with answer.lock:
            if answer.made is None:
                try:
                    check_time()  # of who waited for one that failed
                    answer.made = made = _kept(make())
                except BaseException:
                    self._forget(address, answer)
                    raise
                answer.size = len(address) + len(made.packed if isinstance(made, KeptReply) else made[0])
                self._forget_some()
            made = answer.made
        return kept_reply(made) if isinstance(made, KeptReply) else Response(made[0], content_type=made[1])

    def _find(self, address: bytes, state: tuple[int, ...]) -> _Answer:
        with self._lock:
            answer = self._answers.get(address)
            if answer is None or answer.state != state:
                answer = self._answers[address] = _Answer(state)
            self._answers.move_to_end(address)
            return answer

    def _forget(self, address: bytes, answer: _Answer) -> None:
        with self._lock:
            if self._answers.get(address) is answer:  # and not one of a newer state
                del self._answers[address]

    def _forget_some(self) -> None:
        """Keeps the latest, as far as there is room."""
        with self._lock:
            size = sum(answer.size for answer in self._answers.values())
            while self._answers and (len(self._answers) > _KEPT or size > _KEPT_BYTES):
                size -= self._answers.popitem(last=False)[1].size


def _kept(response: Response) -> KeptReply | tuple[bytes, str]:
    body, kind = response.get_data(), response.content_type
    return (body, kind) if len(body) < GZIP_FROM else KeptReply.of(body, kind)


def install(app: Flask) -> None:
    """Gives `app` a place for such answers."""
    app.extensions[_KEY] = _Answers()


def shared(view: View) -> View:
    """For a view whose first argument is a run's id, and whose answer depends on address and run alone."""

    @wraps(view)
    def answer(run: str, **places: Any) -> Response:
        found = current_run(run)
        answers: _Answers = current_app.extensions[_KEY]
        address = f"{request.path}?".encode() + request.query_string
        if len(address) > _LONGEST:
            return view(run=run, **places)
        return answers.get(address, _state(found), lambda: view(run=run, **places))

    return answer


def _state(run: RunIndex) -> tuple[int, ...]:
    """Differs whenever an answer may; read before the answer is made, so that a newer one is told, too."""
    return run.generation, run.version, run.catalog.rows, run.events.version
