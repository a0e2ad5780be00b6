"""One connection with a browser: waitress's, so that no client holds up a thread or ends one."""

from __future__ import annotations

import re
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import BadRequest

_BARE_LF = re.compile(rb"(?<!\r)\n")
_TLS = b"\x16"  # a browser that was told https


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    def received(self, data: bytes) -> int:
        taken = int(super().received(data))
        if not self.headers_finished and _BARE_LF.search(self.header_plus.lstrip()):
            self.error = BadRequest("Lines of a request end with CR LF")  # its end would never be found
            self.completed = True
        return taken

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # a length of more digits than Python makes a number of
            raise ParsingError("Content-Length is invalid") from error


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection, ended by the thread that waits only.

    A thread that answers may find it broken, where it asks for the rest of the next request. If it closed the
    socket itself, that would be gone, or another one, while the other thread is about to wait for it.
    """

    parser_class = _Parser
    _held_back = False  # the next request waits until the client has taken enough of the last answer

    def received(self, data: bytes) -> bool:
        """Takes what has arrived; what is no HTTP at all is not waited for."""
        if self.request is None and not self.requests and data.startswith(_TLS):
            self.will_close = True
            return False
        return bool(super().received(data))

    def send_continue(self) -> None:
        """Asks for the body; waitress does so where there is none, too, and then waits for it for ever."""
        if self.request.completed:
            self.request.expect_continue = False
            return
        super().send_continue()
        self._look_again()

    def handle_close(self) -> None:
        """Ends it, or has it ended."""
        if self._map.is_of_this_thread:
            super().handle_close()
            return
        self.will_close = True
        self._look_again()

    def writable(self) -> Any:
        """Whether there is something to send; called by the thread that waits, before each wait."""
        if self._held_back and not self._has_much_to_send():
            self._held_back = False
            self.server.task_dispatcher.add_task(self)
        return super().writable()

    def answer_next(self) -> None:
        """Has the next request answered by a thread, as soon as the client reads."""
        if self._has_much_to_send():
            self._held_back = True
        else:
            self.server.task_dispatcher.add_task(self)

    def _has_much_to_send(self) -> bool:
        return bool(self.total_outbufs_len > self.adj.outbuf_high_watermark)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Does not wait, as waitress's does in a thread that is to answer others; an answer is a whole
        anyway, and `answer_next` waits without one."""
        if self._has_much_to_send():
            with self.outbuf_lock:
                self._flush_exception(self._flush_some, do_close=False)

    def _look_again(self) -> None:
        if (fd := self._fileno) is not None:
            self._map.look_again(fd)
