"""A server's file of rule settings: used by analyses, read again when it changes, told where it is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from polling import until
from small_dump import Api

from tensortap.server.routes.findings import RuleFile

QUIET = "[ExplodingTensor]\nseverity = 'low'\n"
OWN = "[Loud]\nwhere = 'abs_max > 0'\nseverity = 'high'\n"


def test_without_a_file_nothing_is_set() -> None:
    rules = RuleFile(None).read()
    assert (rules.table, rules.status) == ({}, None)


def test_a_file_is_read_again_when_it_changes_and_a_wrong_one_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(QUIET)
    file = RuleFile(path)
    first = file.read()
    assert file.read() is first
    assert first.table == {"ExplodingTensor": {"severity": "low"}}
    path.write_text("[ExplodingTensor")
    wrong = file.read()
    assert (wrong.table, wrong.version) == (first.table, first.version)
    assert wrong.status is not None
    assert str(wrong.status["error"]).startswith("mine.toml cannot be parsed")
    path.write_text("[ExplodingTensorr]\nseverity = 'low'")
    unknown = file.read()
    assert (unknown.table, unknown.version) == (first.table, first.version)
    assert unknown.status is not None
    assert unknown.status["error"] == "There is no rule 'ExplodingTensorr'."
    path.unlink()
    gone = file.read().status
    assert gone == {
        "name": "mine.toml",
        "error": "mine.toml cannot be read: No such file or directory.",
        "hint": "",
    }
    path.write_text(OWN)
    last = file.read()
    assert (list(last.table), last.version, last.status) == (
        *(["Loud"], 2),
        {"name": "mine.toml", "error": None, "hint": ""},
    )


def test_findings_are_those_of_the_file(logdir: Path, opened: Callable[..., Api], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(QUIET)
    api = opened(logdir, rules=path)
    address = f"/api/runs/{api.run_id('exp/first')}/findings"

    def severities(rule: str) -> set[str]:
        answer: dict[str, Any] = api.json(address)
        assert answer["rules_file"]["name"] == "mine.toml"
        return {finding["severity"] for finding in answer["findings"] if finding["rule"] == rule}

    until(lambda: severities("ExplodingTensor") == {"low"}, "the findings", 60)
    path.write_text(QUIET + OWN)
    os.utime(path, ns=(1, 1))
    until(lambda: severities("Loud") == {"high"}, "the findings of the changed file", 60)
