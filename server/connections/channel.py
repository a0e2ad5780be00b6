"""One connection with a client: waitress's channel, changed so that no client blocks or ends a thread."""

from __future__ import annotations

import re
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest

_BARE_LF = re.compile(rb"(?<!\r)\n")
_TLS = b"\x16"  # the first byte of a client that speaks https


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    def received(self, data: bytes) -> int:
        taken = int(super().received(data))
        if not self.headers_finished and _BARE_LF.search(self.header_plus.lstrip()):
            self.error = BadRequest(
                "Lines of a request end with CR LF"
            )  # else waitress waits for an end that it cannot find
            self.completed = True
        return taken

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # more digits than Python converts
            raise ParsingError("Content-Length is invalid") from error


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection that only the main thread closes.

    A worker may find it broken when it sends `100 Continue`. If it closed the socket itself, the file
    descriptor would be gone, or another one, while the main thread is about to wait for it.
    """

    parser_class = _Parser
    _is_held_back = (
        False  # whether the next request waits until the client has read enough of the last answer
    )

    def received(self, data: bytes) -> bool:
        """Parses received data; closes the connection of a client that speaks TLS."""
        if self.request is None and not self.requests and data.startswith(_TLS):
            self.will_close = True
            return False
        return bool(super().received(data))

    def send_continue(self) -> None:
        """Sends `100 Continue` only where a body follows; waitress would wait for one that never comes."""
        if self.request.completed:
            self.request.expect_continue = False
            return
        super().send_continue()
        self._check_again()

    def handle_close(self) -> None:
        """Closes the connection, or has the main thread do so."""
        if self._map.is_main_thread:
            super().handle_close()
            return
        self.will_close = True
        self._check_again()

    def writable(self) -> Any:
        """Whether there is something to send; called by the main thread before each wait."""
        if self._is_held_back and not self._has_much_to_send():
            self._is_held_back = False
            self.server.task_dispatcher.add_task(self)
        return super().writable()

    def answer_next(self) -> None:
        """Gives the next request to a worker, as soon as the client has read enough."""
        if self._has_much_to_send():
            self._is_held_back = True
        else:
            self.server.task_dispatcher.add_task(self)

    def _has_much_to_send(self) -> bool:
        return bool(self.total_outbufs_len > self.adj.outbuf_high_watermark)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Does not block the worker, as waitress does: `answer_next` waits without one."""
        if self._has_much_to_send():
            with self.outbuf_lock:
                self._flush_exception(self._flush_some, do_close=False)

    def _check_again(self) -> None:
        if (fd := self._fileno) is not None:
            self._map.check_again(fd)
