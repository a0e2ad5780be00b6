"""Escapes log lines of the server: refused requests, too, can put text on its terminal."""

from __future__ import annotations

import logging
import traceback

from tensortap.core.text import escaped


class EscapeFilter(logging.Filter):
    """Writes control characters and direction marks of log records as `\\x1b`.

    Terminals obey them, and addresses are logged as they were sent. Line breaks stay in tracebacks only.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass, changed."""
        record.msg, record.args = escaped(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            lines = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n").split("\n")
            record.exc_text = "\n".join(map(escaped, lines))
        return True


ESCAPE_FILTER = EscapeFilter()
