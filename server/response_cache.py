"""Caches responses that all viewers of a run request, until the run changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from flask import Flask, Response, current_app, request

from tensortap.core.deadline import check_time_limit

from .log_reader import current_run
from .responses.responses import GZIP_FROM, PackedResponse, packed_response

_KEY = "tensortap-response-cache"
_MAX_ANSWERS = 256
_MAX_BYTES = 32 << 20  # of all answers, compressed, and of their addresses
_MAX_ADDRESS = 8 << 10  # bytes; the page's own are far shorter
View = Callable[..., Response]


@dataclass(slots=True, eq=False)
class _Entry:
    """`state`: the run's revision when it was made. `lock`: held while it is made."""

    state: tuple[object, ...]
    made: PackedResponse | tuple[bytes, str] | None = None
    size: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class _ResponseCache:
    """The last answers by address, without failures."""

    def __init__(self) -> None:
        self._answers: OrderedDict[bytes, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, address: bytes, state: tuple[object, ...], make: Callable[[], Response]) -> Response:
        """The cached response, computed if necessary; concurrent callers wait for it."""
        answer = self._find(address, state)
        with answer.lock:
            if answer.made is None:
                try:
                    check_time_limit()  # one that waited for a failed one may be late
                    answer.made = made = _pack(make())
                except BaseException:
                    self._forget(address, answer)
                    raise
                answer.size = len(address) + len(made.body if isinstance(made, PackedResponse) else made[0])
                self._evict()
            made = answer.made
        return (
            packed_response(made)
            if isinstance(made, PackedResponse)
            else Response(made[0], content_type=made[1])
        )

    def clear(self) -> None:
        """Drops all answers."""
        with self._lock:
            self._answers.clear()

    def _find(self, address: bytes, state: tuple[object, ...]) -> _Entry:
        with self._lock:
            answer = self._answers.get(address)
            if answer is None or answer.state != state:
                answer = self._answers[address] = _Entry(state)
            self._answers.move_to_end(address)
            return answer

    def _forget(self, address: bytes, answer: _Entry) -> None:
        with self._lock:
            if self._answers.get(address) is answer:  # not one of a newer state
                del self._answers[address]

    def _evict(self) -> None:
        """Evicts the least recently used beyond the limits."""
        with self._lock:
            size = sum(answer.size for answer in self._answers.values())
            while self._answers and (len(self._answers) > _MAX_ANSWERS or size > _MAX_BYTES):
                size -= self._answers.popitem(last=False)[1].size


def _pack(response: Response) -> PackedResponse | tuple[bytes, str]:
    body, kind = response.get_data(), response.content_type
    return (body, kind) if len(body) < GZIP_FROM else PackedResponse.of(body, kind)


def install(app: Flask) -> None:
    """Adds an empty cache to `app`."""
    app.extensions[_KEY] = _ResponseCache()


def drop_responses(app: Flask) -> None:
    """Empties the cache of `app`."""
    answers: _ResponseCache = app.extensions[_KEY]
    answers.clear()


def cached(view: View) -> View:
    """Decorates a view of a run (its first argument is the id) that depends on address and run alone."""

    @wraps(view)
    def answer(run: str, **places: Any) -> Response:
        found = current_run(run)
        answers: _ResponseCache = current_app.extensions[_KEY]
        address = f"{request.path}?".encode() + request.query_string
        if len(address) > _MAX_ADDRESS:
            return view(run=run, **places)
        # Read before the answer is made: a change meanwhile has it made again.
        return answers.get(address, found.revision, lambda: view(run=run, **places))

    return answer
