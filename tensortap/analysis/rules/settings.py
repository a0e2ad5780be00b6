"""Settings of rules: thresholds, severities, muted ones and new conditions, from a TOML or JSON file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensortap.core.errors import TensortapError
from tensortap.core.text import did_you_mean

from .finding import SEVERITIES
from .rule import Rule
from .user_rules import condition_rule

MAX_BYTES = 1 << 20


class SettingsError(TensortapError):
    """A file of rule settings cannot be read, or says something impossible. The hint says what is allowed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a file of rules says.

    Attributes:
        changes: rule -> its thresholds, `severity` and `enabled`, as far as they are changed.
        mute: `Rule`, or `Rule: regular expression` searched in the tensor name and in what was found.
        added: rules that the file defines.
        file: what errors call it; empty if there is none.
    """

    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    mute: Sequence[str] = ()
    added: Sequence[Rule] = ()
    file: str = ""

    def apply(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules as the settings want them; those that are not enabled are left out.

        Raises:
            SettingsError: there is no such rule or threshold.
        """
        with _named(self.file):
            self.check_names(self.changes, rules)
            applied = [_changed(rule, self.changes.get(rule.name, {})) for rule in (*rules, *self.added)]
        return [rule for rule in applied if rule is not None]

    def check_names(self, names: Iterable[str], rules: Sequence[Rule]) -> None:
        """Raises SettingsError where one names none of the rules, nor one that the settings add."""
        known = sorted({rule.name for rule in (*rules, *self.added)})
        for name in names:
            if name not in known:
                listed = f"There are {', '.join(known)}"
                near = did_you_mean(name, known, listed)
                hint = (
                    f"{near}; a new one needs 'where'."
                    if near == listed
                    else f"{near} A new one needs 'where'."
                )
                raise SettingsError(f"There is no rule {name!r}.", hint)

    def muting(self, entries: Iterable[str]) -> Settings:
        """These settings, with further muted rules."""
        return replace(self, mute=[*self.mute, *entries])

    def mutes(self, rule: str, *texts: str) -> bool:
        """Whether a finding of a rule is muted; `texts` are its tensor and what was found."""
        return any(muted(entry, rule, texts) for entry in self.mute)


def muted(entry: str, rule: str, texts: Sequence[str]) -> bool:
    """Whether an entry of a list of muted rules fits."""
    name, _, pattern = (part.strip() for part in entry.partition(":"))
    return name == rule and (not pattern or any(re.search(pattern, text) for text in texts))


def check_mute(entry: object) -> str:
    """An entry of a list of muted rules.

    Raises:
        SettingsError: its pattern is no regular expression.
    """
    try:
        re.compile(str(entry).partition(":")[2].strip())
    except re.error as error:
        raise SettingsError(
            f"{entry!r} cannot be muted: {error}.", "Write 'Rule' or 'Rule: regex'."
        ) from error
    return str(entry)


def read_settings(path: Path) -> Settings:
    """Reads a TOML file (or JSON, if its name ends so).

    Raises:
        SettingsError: it cannot be parsed, or says something impossible. OSError: it cannot be read.
    """
    table = read_table(path)
    with _named(str(path)):
        return replace(parse_settings(table), file=str(path))


def read_table(path: Path) -> dict[str, Any]:
    """What a TOML or JSON file of settings holds, as `parse_settings` takes it. Raises as `read_settings`."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SettingsError(f"{path} is larger than {MAX_BYTES} bytes.", "It should hold a few thresholds.")
    try:
        text = data.decode()
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be parsed: {error}.", _EXAMPLE) from error
    if not isinstance(found, dict):
        raise SettingsError(f"{path} holds no table.", _EXAMPLE)
    return found


def parse_settings(found: Mapping[str, Any]) -> Settings:
    """Settings from what a file holds. Raises SettingsError."""
    mute = found.get("mute", [])
    if not isinstance(mute, list):
        raise SettingsError("'mute' is no list.", 'Write mute = ["LargeWeights", "AllZero: dense_3/"].')
    changes: dict[str, Mapping[str, Any]] = {}
    added = []
    for name, table in found.items():
        if name == "mute":
            continue
        if not isinstance(table, dict):
            raise SettingsError(f"{name!r} is no rule.", _EXAMPLE)
        if "where" in table:
            added += [] if table.get("enabled") is False else [condition_rule(name, table)]
        else:
            changes[name] = table
    return Settings(changes, [check_mute(entry) for entry in mute], added)


@contextmanager
def _named(file: str) -> Iterator[None]:
    """Errors of a file's settings say which file."""
    try:
        yield
    except SettingsError as error:
        raise SettingsError(f"{file}: {error.message}" if file else error.message, error.hint) from None


def _changed(rule: Rule, table: Mapping[str, Any]) -> Rule | None:
    limits = dict(rule.thresholds)
    severity, chosen = rule.severity, rule.severity_set
    for key, value in table.items():
        if key == "enabled" and isinstance(value, bool):
            if not value:
                return None
        elif key == "severity" and value in SEVERITIES:
            severity, chosen = value, True
        elif key in limits and isinstance(value, int | float) and not isinstance(value, bool):
            limits[key] = value
        else:
            allowed = ", ".join([*limits, "severity", "enabled"])
            raise SettingsError(
                f"{key} = {value!r} is nothing that {rule.name} knows.", f"It knows {allowed}."
            )
    return replace(rule, thresholds=limits, severity=severity, severity_set=chosen)


_EXAMPLE = (
    "As in: [VanishingGradient] and below it mean_abs = 1e-9. 'tensortap rules --list --toml' writes one."
)
