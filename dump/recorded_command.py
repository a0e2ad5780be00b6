"""The command line as a run records it: whoever may read the run may not learn a password from it."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from .addresses import without_secrets

HIDDEN = "…"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_GIVEN = re.compile(r"(-*[\w.-]+)=(.*)", re.DOTALL)  # `--token=…`, and `wandb.api_key=…` as Hydra has it
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # also of `apiKey`
_TOLD_ANYWHERE = {
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secrets",
    "credentials",
    "signature",
    "apikey",
}
# The last word of an option's name only: `--pad-token-id` and `--key-dim` are no secrets.
_TOLD_AT_THE_END = {"token", "tok", "toke", "key", "pwd", "pass", "auth", "authorization", "sig", "sas"}


def recorded_command(arguments: Sequence[str] | None = None) -> list[str]:
    """The command line (`sys.argv` if none is given) without what is secret in it.

    Addresses lose user, password and query; what belongs to an option whose name says so (`--token`,
    `--db-password`, `api_key=…`) is shown as `…`. An option is rather hidden than told.
    """
    found: list[str] = []
    is_secret = False
    for argument in sys.argv if arguments is None else arguments:
        if is_secret and not argument.startswith("--"):
            found.append(HIDDEN)
            is_secret = False
            continue
        given = _GIVEN.fullmatch(argument)
        if given is not None and _names_a_secret(given[1]):
            found.append(f"{given[1]}={HIDDEN}")
        else:
            found.append(_without_addresses_secrets(argument))
        is_secret = given is None and argument.startswith("-") and _names_a_secret(argument)
    return found


def _names_a_secret(option: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(option)]
    return bool(words) and (words[-1] in _TOLD_AT_THE_END or not _TOLD_ANYWHERE.isdisjoint(words))


def _without_addresses_secrets(argument: str) -> str:
    """Of what holds an address (`--data=s3://…`), too; all behind its `?` may belong to it."""
    begun = _ADDRESS.search(argument)
    if begun is None:
        return argument
    return argument[: begun.start()] + without_secrets(argument[begun.start() :])
