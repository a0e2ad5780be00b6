"""`tensortap rules`: finds common faults of training in a run."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tensortap.core.errors import NotARunError
from tensortap.core.text import escaped
from tensortap.dump.read.runs import find_runs
from tensortap.importers.resolve import as_logdir
from tensortap.storage.uri import shown_path

from ...argument_types import add_engine, add_follow_links, source
from ...console import console, print_json
from ...progress import rules_progress
from ...select_run import only_run, open_log, report_damage
from ...views.rules import print_findings, print_rules, rules_as_toml

if TYPE_CHECKING:
    from tensortap.analysis.rules.runner import Findings
    from tensortap.analysis.rules.settings import Settings
    from tensortap.index.run_index import RunIndex

HELP = "apply rules to a run: vanishing gradients, dead units, overflow, and more"
EXAMPLE = "tensortap rules logs/digits; tensortap rules --list --toml > mine.toml"

_EVERY = 2.0  # seconds between two looks at a growing run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=source, nargs="?", metavar="LOGDIR|RUN", help="one run")
    parser.add_argument("--list", action="store_true", help="list all rules with their defaults")
    parser.add_argument("--toml", action="store_true", help="with --list: print as a settings file")
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="FILE",
        help="thresholds, severities and custom rules (TOML or JSON)",
    )
    parser.add_argument("--mute", metavar="RULE[:REGEX]", help="mute a rule (on some tensors) in this run")
    parser.add_argument("--unmute", metavar="RULE[:REGEX]", help="unmute a rule")
    parser.add_argument("--muted", action="store_true", help="also show muted findings")
    parser.add_argument(
        "--follow", action="store_true", help="wait for the run and check it again as it grows"
    )
    parser.add_argument(
        "--fail-on",
        choices=("high", "medium", "low"),
        help="exit with status 1 on a finding of this severity or above, or if a rule fails",
    )
    add_engine(parser)
    parser.add_argument("--json", action="store_true", help="print JSON; with --follow, after each check")
    add_follow_links(parser)


def run(arguments: argparse.Namespace) -> int:
    from tensortap.analysis.rules.muted_findings import mute, unmute
    from tensortap.analysis.rules.registry import all_rules
    from tensortap.analysis.rules.settings import Settings, check_mute, read_settings

    settings = read_settings(arguments.rules) if arguments.rules else Settings()
    if arguments.list:
        rules = settings.apply(all_rules())
        if arguments.toml:
            print(rules_as_toml(rules), end="")
        elif arguments.json:
            print_json([{key: getattr(rule, key) for key in _FIELDS} for rule in rules])
        else:
            print_rules(rules, console())
        return 0
    if arguments.path is None:
        raise NotARunError("No run given.", "Pass a run, e.g. 'tensortap rules logs/digits', or use --list.")
    if arguments.mute:
        settings.check_names([arguments.mute.partition(":")[0].strip()], all_rules())
    found = _awaited(arguments.path) if arguments.follow else only_run(arguments.path, arguments)
    if arguments.mute:
        mute(found, check_mute(arguments.mute))
    if arguments.unmute:
        unmute(found, arguments.unmute)
    return _follow(found, settings, arguments) if arguments.follow else _once(found, settings, arguments)


_FIELDS = ("name", "about", "severity", "thresholds", "source", "help")


def _once(found: RunIndex, settings: Settings, arguments: argparse.Namespace) -> int:
    findings = _check(found, settings)
    _print(found, findings, arguments)
    return _status(found, findings, arguments.fail_on)


def _print(found: RunIndex, findings: Findings, arguments: argparse.Namespace) -> None:
    report_damage(found)
    if arguments.json:
        fields = {"findings": findings.findings, "failed": findings.failed, "left_out": findings.left_out}
        print_json(
            {
                "run": found.name,
                **fields,
                "raised": findings.raised,
                "damage": found.missing_data,
            }
        )
    else:
        print_findings(found.name, findings, console(), muted=arguments.muted)


def _check(found: RunIndex, settings: Settings) -> Findings:
    from tensortap.analysis.rules.muted_findings import mutes_of
    from tensortap.analysis.rules.runner import check_rules

    with rules_progress() as progress:
        return check_rules(found, settings.muting(mutes_of(found)), progress=progress)


def _awaited(path: Path) -> RunIndex:
    """The only run below `path`; waits for it, and for the folder."""
    unread: list[Path] = []
    announced = False
    while not (find_runs(as_logdir(path), lambda folder, _: unread.append(folder)) or unread):
        if not announced:
            print(escaped(f"waiting for a run in {shown_path(path)}"), file=sys.stderr, flush=True)
        announced = True
        time.sleep(_EVERY)
    return only_run(path)


def _follow(found: RunIndex, settings: Settings, arguments: argparse.Namespace) -> int:
    """Prints findings whenever they change, until the run's writers have closed; waits for the first
    writer."""
    log = open_log(arguments.path)
    printed: set[tuple[str, str]] = set()
    while True:
        growing = next((run for run in log.runs if run.id == found.id or run.name == found.name), None)
        if growing is None:
            raise NotARunError(f"The run {found.name} was removed.", "It was deleted or moved.")
        findings = _check(growing, settings)
        new = {(finding.rule, finding.tensor) for finding in findings.findings} - printed
        if new or not printed:
            _print(growing, findings, arguments)
            printed |= new or {("", "")}
        if growing.workers and all(worker.closed for worker in growing.workers):
            return _status(growing, findings, arguments.fail_on)
        time.sleep(_EVERY)
        log.refresh()


def _status(found: RunIndex, findings: Findings, level: str | None) -> int:
    """1 if there is a finding of that level, or it is unknown because a rule failed or the run is damaged."""
    from tensortap.analysis.rules.finding import SEVERITIES

    if level is None:
        return 0
    bad = SEVERITIES[: SEVERITIES.index(level) + 1]
    return int(
        bool(findings.failed or found.damage)
        or any(finding.severity in bad and not finding.muted for finding in findings.findings)
    )
