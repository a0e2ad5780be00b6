"""`tensortap demo`: trains a small network with a tap, and serves the page meanwhile."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tensortap.core.errors import TensortapError

from ..argument_types import local
from ..exit import exit_now
from .serve import announce, has_display, open_page, port_number

HELP = "train a small network on real data and watch it in the browser"
EXAMPLE = "tensortap demo --steps 100"


class DemoError(TensortapError):
    """The demo cannot run here. The hint names the package to install."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--logdir",
        type=local,
        default=Path("demo-logs"),
        help="log directory for the runs (default: demo-logs)",
    )
    parser.add_argument(
        "--steps", type=_steps, default=200, help="training steps of the main run (default: 200)"
    )
    parser.add_argument("--broken", action="store_true", help="train only the run that ends in NaN")
    parser.add_argument("--no-serve", action="store_true", help="write the runs and exit")
    parser.add_argument(
        "--port", type=port_number, help="port of the page (default: 6016, or the next free one)"
    )
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=has_display(),
        help="open the page in a browser",
    )


def _steps(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 1_000_000):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of steps; use 1 to 1000000")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    missing = [name for name in ("tensorflow", "keras", "sklearn") if importlib.util.find_spec(name) is None]
    if missing:
        raise DemoError(
            f"The demo needs {' and '.join(missing)}.", 'Install it: pip install "tensortap[demo]"'
        )
    if arguments.no_serve:
        _train(arguments)
        print(f"View the runs: tensortap serve {arguments.logdir}")
        return 0
    serving = _serve(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        _train(arguments)
        print("Training is done. Press Ctrl-C to stop the server.", flush=True)
        serving.join()
    exit_now(0)


def _train(arguments: argparse.Namespace) -> None:
    print("Loading TensorFlow …", flush=True)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # its notes about the machine would bury the address
    with _stderr_held_back():
        from ..demo_model import train_broken, train_digits

    if not arguments.broken:
        train_digits(arguments.logdir, arguments.steps)
    train_broken(arguments.logdir)


@contextlib.contextmanager
def _stderr_held_back() -> Iterator[None]:
    """Holds back stderr while TensorFlow is imported; writes it if the import fails.

    Its notes about graphics cards come before any setting could silence them, and bury the address.
    """
    sys.stderr.flush()
    real = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            os.dup2(real, 2)
            held.seek(0)
            sys.stderr.write(held.read().decode(errors="replace"))
            raise
        finally:
            os.dup2(real, 2)
            os.close(real)


def _serve(arguments: argparse.Namespace) -> threading.Thread:
    """Serves in a separate thread, so that the page is live while the main thread trains."""
    from tensortap.server.serve import Server

    server = Server([arguments.logdir], port=arguments.port)
    announce(server, [arguments.logdir])
    thread = threading.Thread(target=server.run, name="tensortap-serve", daemon=True)
    thread.start()
    if arguments.open:
        open_page(server.url)
    return thread
