"""The command line: one parser, one module a command, errors as sentences."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

from tensortap.core.text import did_you_mean, escaped

from .commands import (
    check,
    demo,
    import_,
    info,
    ls,
    prune,
    replay,
    serve,
    show,
    step,
    watch,
)
from .commands.analysis import diff, ledger, nan, rules
from .commands.sharing import bundle, export, story
from .commands.statistics import compact, sql
from .exit import INTERRUPTED


class Command(Protocol):
    """Interface of a module of `commands`. `run` returns the exit status."""

    HELP: str
    EXAMPLE: str

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None: ...

    def run(self, arguments: argparse.Namespace, /) -> int: ...


COMMANDS: dict[str, Command] = {
    "demo": demo,
    "serve": serve,
    "ls": ls,
    "show": show,
    "info": info,
    "watch": watch,
    "nan": nan,
    "diff": diff,
    "rules": rules,
    "ledger": ledger,
    "replay": replay,
    "step": step,
    "bundle": bundle,
    "check": check,
    "import": import_,
    "export": export,
    "compact": compact,
    "sql": sql,
    "story": story,
    "prune": prune,
}

_WRONG_USAGE = 2  # argparse's


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"tensortap {version('tensortap')}")
        parser.exit()


class _CommandParser(argparse.ArgumentParser):
    """Accepts positional arguments after options: `show RUN --json TENSOR`."""

    _is_intermixed = False  # whether argparse reads the options first, which calls this again

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # of any Namespace
        if self._is_intermixed or "--" in args:  # after it, no argument is an option, so the order counts
            return super().parse_known_args(args, namespace)
        self._is_intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixed = False


def build_parser() -> argparse.ArgumentParser:
    """The parser with all commands."""
    parser = argparse.ArgumentParser(
        prog="tensortap",
        description="See every tensor of a TensorFlow program.",
        epilog="Start with: tensortap demo",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="command", required=True, parser_class=_CommandParser
    )
    for name, command in COMMANDS.items():
        added = commands.add_parser(
            name,
            help=command.HELP,
            description=command.HELP[0].upper() + command.HELP[1:] + ".",
            epilog=f"example: {command.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(added)
        added.set_defaults(run=command.run)
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Parses, runs, and turns failures into a sentence on stderr and an exit status."""
    from tensortap.core.errors import TensortapError
    from tensortap.storage.links import follow_links

    _open_closed_streams()
    try:
        with _ignore_broken_pipe():
            parser = build_parser()
            if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
                hint = did_you_mean(arguments[0], COMMANDS, "'tensortap --help' lists all commands.")
                parser.error(f"There is no command {arguments[0]!r}. {hint}")
            parsed = parser.parse_args(arguments)
            if getattr(parsed, "follow_links", False):
                follow_links()
            return int(parsed.run(parsed))
    except argparse.ArgumentError as error:  # options that do not go together
        _failed(str(error), f"'tensortap {parsed.command} --help' lists all options.")
        return _WRONG_USAGE
    except TensortapError as error:
        return _failed(error.message, error.hint)
    except FileExistsError as error:
        found = error.filename or "The file"
        return _failed(f"{found} already exists.", "Choose another name, or remove it.")
    except OSError as error:
        return _failed(f"{error.strerror or error}: {error.filename or 'system error'}.", "")
    except KeyboardInterrupt:
        return INTERRUPTED


def _failed(message: str, hint: str) -> int:
    print(escaped(f"tensortap: {message}"), file=sys.stderr)
    if hint:
        print(escaped(hint), file=sys.stderr)
    return 1


def _open_closed_streams() -> None:
    """Opens closed streams (`tensortap ls >&-`, cron jobs), because a missing reader is not a failure."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)  # gets the number of the closed one
            setattr(sys, name, os.fdopen(nothing, "r" if name == "stdin" else "w"))


@contextlib.contextmanager
def _ignore_broken_pipe() -> Iterator[None]:
    """`tensortap ls | head` ends without a traceback: further output is discarded."""
    try:
        try:
            yield
        except SystemExit:  # of --help and --version
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except BrokenPipeError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        raise SystemExit(0) from None
