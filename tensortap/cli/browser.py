"""Opening the page in a browser without showing the token to other users of the machine."""

from __future__ import annotations

import os
import sys
import webbrowser
from html import escape

from tensortap.system.temp_dirs import temp_folder_until_exit


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
    path = temp_folder_until_exit() / "page.html"
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(url)}">'
    path.write_text(f'<!doctype html><meta charset="utf-8">{refresh}\n', encoding="utf-8")
    webbrowser.open(path.as_uri())
