"""What the server writes on its terminal: a request that is not let in can put text there, too."""

from __future__ import annotations

import logging
import traceback

from tensortap.core.text import escaped


class EscapedLines(logging.Filter):
    """Writes control characters and direction marks of records as `\\x1b`: addresses come as they were sent,
    and terminals obey what is in them. Line breaks stay between the lines of a traceback only."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass, changed."""
        record.msg, record.args = escaped(record.getMessage()), ()
        if record.exc_info and record.exc_info[1] is not None:
            lines = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n").split("\n")
            record.exc_text = "\n".join(map(escaped, lines))
        return True


ESCAPED_LINES = EscapedLines()
