"""`tensortap serve`: the page, live."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import webbrowser
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tensortap.core.errors import InvalidValueError
from tensortap.importers.resolve import resolve_log_directories
from tensortap.storage.filesystem import is_folder
from tensortap.storage.uri import is_remote, shown_path
from tensortap.system.temp_dirs import temp_folder_until_exit

from ..argument_types import add_follow_links, memory_size, source
from ..exit import exit_now, interrupted_at_once, status_of
from ..replay_options import add_limits

if TYPE_CHECKING:
    from tensortap.replay.client import ReplayProcess
    from tensortap.server.serve import Server

HELP = "serve the page for one or more log directories"
EXAMPLE = """tensortap serve logs
         tensortap serve logs --allow-replay
         tensortap serve logs --rules mine.toml"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "logdir",
        nargs="+",
        type=source,
        metavar="LOGDIR",
        help="a directory of runs or one run (may not exist yet), a .tap.zip, or any format that "
        "'tensortap import' reads; a path, s3://… or https://…",
    )
    parser.add_argument(
        "--port",
        type=port_number,
        help="port to listen on (default: 6016, or the next free one; 0: any free one)",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument(
        "--token",
        help="access token (default: a random one); visible in the process list, unlike TENSORTAP_TOKEN",
    )
    parser.add_argument(
        "--no-token", action="store_true", help="allow every user of this machine (loopback only)"
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="also answer to this host name; repeatable",
    )
    parser.add_argument(
        "--trusted-proxy",
        metavar="ADDRESS",
        help="trust X-Forwarded-Host and X-Forwarded-Proto from this IP address; anyone who can send "
        "from it passes the Host check (docs/security.md)",
    )
    parser.add_argument(
        "--allow-replay",
        action="store_true",
        help="let the page replay recorded steps, in a separate process (docs/security.md); only for "
        "recordings you trust; needs the token",
    )
    add_limits(parser, 300.0, 8.0, prefix="replay-")
    parser.add_argument(
        "--memory",
        dest="serve_bytes",
        type=memory_size,
        default=memory_size("1"),
        metavar="GB",
        help="memory limit of the server, in GB of 10^9 bytes, or with a unit as in 500MB (default: 1); the "
        "processes for analyses share as much again",
    )
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="FILE",
        help="rule settings as for 'tensortap rules' (TOML or JSON); reloaded when the file changes",
    )
    parser.add_argument(
        "--compact",
        action="store_true",
        help="run 'tensortap compact' in the background while runs grow",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    add_follow_links(parser)


def port_number(text: str) -> int:
    """An argparse type: 0 … 65535."""
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; use 0 to 65535")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    with interrupted_at_once():
        from tensortap.server.serve import Server
        from tensortap.system.pandas_guard import hide_pandas

        hide_pandas()
    if arguments.compact:
        _check_compactable(arguments.logdir)
    logdirs = resolve_log_directories(arguments.logdir)
    server = Server(
        logdirs,
        host=arguments.host,
        port=arguments.port,
        token=arguments.token or os.environ.get("TENSORTAP_TOKEN"),
        use_token=not arguments.no_token,
        allowed_hosts=arguments.allow_host,
        trusted_proxy=arguments.trusted_proxy,
        replay_process=_replay_process(arguments),
        rules=_checked(arguments.rules),
        own_process=True,
        memory=arguments.serve_bytes,
    )
    for logdir in logdirs:
        if not is_folder(logdir):
            print(f"{shown_path(logdir)} does not exist yet; runs will appear as they are written.")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # a container is stopped this way
    status = 0
    if arguments.compact:
        from tensortap.compact.background import BackgroundCompaction

        BackgroundCompaction(arguments.logdir)
    try:  # either may come before it runs, or again while it ends
        announce(server, arguments.logdir)
        if arguments.open:
            open_page(server.url)
        server.run()
    except KeyboardInterrupt:
        pass
    except SystemExit as ended:
        status = status_of(ended)
    exit_now(status)


def _check_compactable(paths: list[Path]) -> None:
    """Raises InvalidValueError if nothing can be written next to a run."""
    for path in paths:
        if is_remote(path) or path.is_file():
            raise InvalidValueError(
                f"--compact cannot write to {shown_path(path)}.",
                "Serve a local directory, or remove --compact.",
            )


def _checked(rules: Path | None) -> Path | None:
    """The file of rule settings, checked, so that a typing error does not lead to a page without findings."""
    if rules is not None:
        from tensortap.analysis.rules.registry import all_rules
        from tensortap.analysis.rules.settings import read_settings

        read_settings(rules).apply(all_rules())
    return rules


def _replay_process(arguments: argparse.Namespace) -> ReplayProcess | None:
    if not arguments.allow_replay:
        return None
    from tensortap.replay.client import Limits, ReplayProcess

    return ReplayProcess(Limits(arguments.seconds, arguments.memory_bytes), idle=300.0)


def announce(server: Server, logdirs: list[Path]) -> None:
    """Prints the URL, once, with notes about it."""
    from tensortap.server.serve import DEFAULT_PORT

    if server.moved:
        print(f"Port {DEFAULT_PORT} is taken, using {server.port}.")
    places = ", ".join(map(shown_path, logdirs))
    print(
        f"tensortap serves {places} at\n\n    {server.url}\n\nPress Ctrl-C to stop.",
        flush=True,
    )


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
