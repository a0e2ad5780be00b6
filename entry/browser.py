"""Opening the page in a browser without showing the token to other users of the machine."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path


def has_display() -> bool:
    """Whether a graphical browser could open here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_page(url: str) -> None:
    """Opens `url` in the user's browser, by a private file that leads to it.

    A browser's command line can be read by every user of the machine, and `url` holds the token. The file is
    removed when this process ends.
    """
    handle, name = tempfile.mkstemp(prefix="tensortap-", suffix=".html")  # readable by its owner only
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        refresh = f'<meta http-equiv="refresh" content="0;url={escape(url)}">'
        file.write(f'<!doctype html><meta charset="utf-8">{refresh}\n')
    path = Path(name)
    atexit.register(path.unlink, missing_ok=True)
    webbrowser.open(path.as_uri())
