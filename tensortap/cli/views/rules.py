"""Output of `tensortap rules`: findings, the worst first; or the table of rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from tensortap.core.text import counted, number_beside, number_text

from ..console import cell, plain_table

if TYPE_CHECKING:
    from tensortap.analysis.rules.finding import Evidence, Finding
    from tensortap.analysis.rules.rule import Rule
    from tensortap.analysis.rules.runner import Findings

_OTHERS = 6  # findings of the same kind that are listed below the first
_COLOURS = {"high": "bold red", "medium": "yellow", "low": "dim"}


def print_findings(run: str, found: Findings, out: Console, *, muted: bool) -> None:
    """Prints findings.

    Args:
        muted: those that are muted, too.
    """
    shown = [finding for finding in found.findings if muted or not finding.muted]
    hidden = len(found.findings) - len(shown)
    levels = [(level, sum(f.severity == level for f in shown)) for level in _COLOURS]
    counts = ", ".join(f"{count} {level}" for level, count in levels if count)
    bad = found.raised or any(f.severity == "high" for f in shown)
    colour = "bold red" if bad else "bold green"
    if shown:
        out.print(cell(f"{run}: {counted(len(shown), 'finding')} ({counts})", colour))
    else:
        what = f"{counted(found.rules, 'rule')} in {counted(found.rows, 'snapshot')}"
        out.print(cell(f"{run}: no findings by {what}", colour))
    for sentence in found.raised:
        out.print(cell(sentence, "bold red"))
    for group in _groups(shown):
        _print_finding(group[0], len(group), out)
        _print_others(group[1:], out)
    if hidden:
        out.print(cell(f"{counted(hidden, 'more finding')} muted; --muted shows them.", "dim"))
    for rule, count in found.left_out.items():
        out.print(cell(f"{rule}: {counted(count, 'more finding')} not shown.", "dim"))
    for rule, reason in found.failed.items():
        out.print(cell(f"The rule {rule} failed: {reason}", "red"))


def _groups(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of the same rule and severity together, in the order of the first of each."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.rule, finding.severity), []).append(finding)
    return list(groups.values())


def _print_others(findings: Sequence[Finding], out: Console) -> None:
    for finding in findings[:_OTHERS]:
        out.print(cell(f"  also              {finding.text}"))
    if len(findings) > _OTHERS:
        out.print(f"  also              … {len(findings) - _OTHERS:,} more (--json has all)")


def _print_finding(finding: Finding, count: int, out: Console) -> None:
    """Prints the first of `count` findings of a rule."""
    muted = " (muted)" if finding.muted else ""
    several = f", {counted(count, 'finding')}" if count > 1 else ""
    out.print()
    out.print(
        cell(f"{finding.severity} ", _COLOURS[finding.severity]),
        cell(f"{finding.rule}{muted}{several}", "bold"),
        sep="",
    )
    out.print(cell(f"  {finding.text}"))
    steps = f"{finding.steps} of {counted(finding.of, 'captured step')}"
    if finding.looked_at:
        steps = f"{finding.steps:,} of {finding.of:,} {finding.looked_at}"
    place = f"{finding.variable} ({finding.tensor})" if finding.variable else finding.tensor
    out.print(cell(f"  where             {place}, since step {finding.first_step} ({steps})"))
    if finding.layer:
        out.print(cell(f"  layer             {finding.layer}"))
    if finding.frame is not None:
        out.print(
            cell(
                f"  source            {finding.frame.file}:{finding.frame.line}  {finding.frame.text or ''}",
                "cyan",
            )
        )
    out.print(cell(f"  evidence          {'; '.join(map(_evidence, finding.evidence))}"))
    if finding.help:
        out.print(cell(f"  fix               {finding.help}", "green"))
    out.print(cell(f"  next              {finding.next_look}"))
    out.print(cell(f"  threshold source  {finding.source}", "dim"))


def _evidence(evidence: Evidence) -> str:
    text = f"step {evidence.step}: {evidence.name}"
    # "% zeros" is measured as a share of 1.
    factor, unit = (100, " %") if evidence.name.startswith("% ") else (1, "")
    value = factor * evidence.value
    if evidence.limit is None:
        return f"{text} {number_text(value)}{unit}"
    limit = factor * evidence.limit
    return f"{text} {number_beside(value, limit)}{unit} (threshold {number_text(limit)}{unit})"


def print_rules(rules: Sequence[Rule], out: Console) -> None:
    """Prints the rules with their defaults."""
    table = plain_table("rule", "severity", "thresholds", "notices", "source")
    for rule in rules:
        limits = ", ".join(f"{name} {value:.9g}" for name, value in rule.thresholds.items())
        table.add_row(
            cell(rule.name, "bold"),
            cell(rule.severity, _COLOURS[rule.severity]),
            cell(limits),
            cell(rule.about),
            cell(rule.source, "dim"),
        )
    out.print(table)


def rules_as_toml(rules: Sequence[Rule]) -> str:
    """A settings file without effect: every rule with its defaults. Severities are commented out, because a
    set severity applies to all findings of its rule, including milder and worse ones."""
    parts = ['# mute = ["LargeWeights", "AllZero: dense_3/"]']
    for rule in rules:
        parts += [
            "",
            f"# {rule.about} (source: {rule.source})",
            f"[{rule.name}]",
            f'# severity = "{rule.severity}"',
        ]
        parts += [f"{name} = {value!r}" for name, value in rule.thresholds.items()]
    return "\n".join(parts) + "\n"
