"""Redacts secrets in the command line that a run records, so that its readers cannot learn a password."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

HIDDEN = "…"
# In any place of a name, so that `dbpassword`, `tokens` and `--toke` are found; a tokenizer is not one.
_WORD = re.compile(
    "api|auth|bearer|cookie|cred|dsn|jwt|key|pass|pw|secr|sess(ion)?[-_.]?id|signature|tok(?!eni[sz])|webhook"
    "|(otp|pat|pin|sas|sig)s?(?![a-z])",
    re.IGNORECASE,
)
_ENDS_A_NAME = re.compile(r"[=:,\s]")
_QUERY = re.compile("[?#]")
# Stricter than options are, for `--Xy7` may well be a password.
_OPTION = re.compile(r"-[A-Za-z]|--[a-z][a-z0-9_.-]*(=.*)?", re.DOTALL)


def recorded_command(arguments: Sequence[str] | None = None) -> list[str]:
    """The command line (default: `sys.argv`) with `…` in place of secrets.

    Hides the text after a name with one of the words above, in its argument or in those up to the next
    option. In addresses, it hides the user, the password and the query. That is rather too much
    (`--max-tokens …`) than too little; a secret that nothing announces cannot be known for one.
    """
    found: list[str] = []
    follows = False
    for argument in sys.argv if arguments is None else arguments:
        if follows and _OPTION.fullmatch(argument) is None:
            found.append(HIDDEN)
        else:
            found.append(_redacted(argument))
            follows = _is_secret_what_follows(argument)
    return found


def _is_secret_what_follows(argument: str) -> bool:
    word = _WORD.search(argument)
    if word is None:
        return False
    if _ENDS_A_NAME.search(argument, word.end()):
        return argument.rstrip(" \t\r\n'\"([{").endswith(("=", ":", ","))
    return argument.startswith("-") or argument.lstrip("+~/").replace("-", "_").isidentifier()


def _redacted(argument: str) -> str:
    """An argument without its secrets. If its parts are ambiguous, everything after is hidden."""
    end = min(_begin_of_value(argument), _begin_of_query(argument))
    at = argument.rfind("@")
    user = argument.find(":")  # of `user:password@host`, with or without a scheme
    rest = HIDDEN if end < len(argument) else ""
    if not 0 <= user < at:
        return argument[:end] + rest
    user += 3 if argument.startswith("://", user) else 1
    if at > end:
        return argument[: min(user, end)] + HIDDEN
    return argument[:user] + HIDDEN + argument[at:end] + rest


def _begin_of_value(argument: str) -> int:
    """Where that begins which belongs to the first secret name, or the end."""
    word = _WORD.search(argument)
    sign = _ENDS_A_NAME.search(argument, word.end()) if word else None
    return sign.end() if sign else len(argument)


def _begin_of_query(argument: str) -> int:
    """The position of the query after the path of the first address, or the end."""
    scheme = argument.find("://")
    sign = _QUERY.search(argument, scheme) if scheme >= 0 else None
    return sign.end() if sign else len(argument)
