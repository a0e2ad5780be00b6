"""Runs rules on a run: findings, the worst and newest first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tensortap.core.errors import TensortapError
from tensortap.core.progress import Advance
from tensortap.index.query.node_detail import FrameDetail, source_line
from tensortap.index.run_index import RunIndex

from ..notes import raised_steps
from ..run_view.incremental_state import memory_of
from ..run_view.run_view import RunView
from .causality import Deduplicator, raise_severities, sort_key
from .finding import Finding, Hit
from .registry import all_rules
from .rule import Rule
from .settings import Settings

_LOG = logging.getLogger(__name__)
_SOURCES = 40  # maximum number of findings with a source line
MOST = 50  # findings of one rule; more add nothing
_FIRST = ("ReplicaDrift",)  # rules that run first: they read few rows of a compacted run


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of all rules.

    Attributes:
        findings: those that are not muted first; of these the worst, of equals NaN at its origin, then the
            newest, then in data flow order; what leads to others comes before them (`causality.py`). What
            several rules or graphs would say of one tensor or variable is there once.
        failed: rules that raised, with the reason. rules: how many were applied.
        rows: snapshots that were checked.
        raised: steps that ended by an error of the program, a sentence each.
        left_out: rule -> findings beyond its first `MOST`, in the same order.
    """

    findings: list[Finding]
    failed: dict[str, str]
    rules: int
    rows: int
    left_out: dict[str, int] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)


def check_rules(
    run: RunIndex,
    settings: Settings | None = None,
    *,
    rules: Sequence[Rule] | None = None,
    progress: Advance | None = None,
    publish: Callable[[Findings], object] = lambda findings: None,
    wait: Callable[[], object] = lambda: None,
) -> Findings:
    """Applies all rules to all snapshots of a run read so far. If the run has grown since an earlier call,
    rules process only the new snapshots; the findings are the same as without the earlier call.

    Args:
        settings: thresholds, severities, muted and further rules.
        rules: instead of those that are installed.
        progress: called before each rule, and within long ones, with (rules done, number of rules, name of
            the rule); may raise to stop the work.
        publish: called with the findings of `_FIRST`, if there are some, before the other rules run.
        wait: see `RunView`.

    Raises:
        SettingsError: the settings name an unknown rule or threshold.
    """
    settings = settings or Settings()
    applied = settings.apply(all_rules() if rules is None else rules)
    with memory_of(run) as memory:
        view = RunView(run, memory)
        view.wait = wait
        return _checked(view, applied, settings, progress, publish)


def _checked(
    view: RunView,
    applied: Sequence[Rule],
    settings: Settings,
    progress: Advance | None,
    publish: Callable[[Findings], object],
) -> Findings:
    once = Deduplicator()
    found: list[list[tuple[Finding, Hit]]] = [[] for _ in applied]
    failed: dict[str, str] = {}
    left_out: dict[str, int] = {}

    def findings(checked: int) -> Findings:
        pairs = [pair for mine in found for pair in mine]
        worst_first = raise_severities(pairs, {rule.name for rule in applied if rule.severity_set})
        worst_first.sort(key=sort_key(view, worst_first))
        listed = [_with_source(view.run, finding, number) for number, finding in enumerate(worst_first)]
        raised = raised_steps(view.run)
        return Findings(listed, dict(failed), checked, view.rows_seen, dict(left_out), raised)

    for done, number in enumerate(sorted(range(len(applied)), key=lambda at: applied[at].name not in _FIRST)):
        rule = applied[number]
        if rule.name not in _FIRST:
            view.wait()
        report_progress = _rule_progress(progress, done, len(applied), rule.name)
        view.advance = report_progress
        report_progress(0, 1, "")
        try:
            hits = once.of(view, rule.name, rule.check(view, rule.thresholds), rule.severity)
            order = sort_key(view, ())
            mine = [(_finding(view, rule, hit, settings), hit) for hit in hits]
            found[number] = sorted(mine, key=lambda pair: order(pair[0]))[:MOST]
            if len(mine) > MOST:
                left_out[rule.name] = len(mine) - MOST
        except Exception as error:  # a failing rule, e.g. a user's, must not hide other findings
            report_progress(0, 1, "")  # raises once more where it was this that ended the rule
            _LOG.warning("the rule %s failed", rule.name, exc_info=error)
            failed[rule.name] = f"{type(error).__name__}: {error}"
        if found[number] and rule.name in _FIRST:
            publish(findings(done + 1))
    return findings(len(applied))


def _rule_progress(progress: Advance | None, done: int, total: int, name: str) -> Advance:
    """Progress callback for one rule: of all work it is one part, however many it has itself."""

    def report(mine: int, of: int, doing: str) -> None:
        if progress is not None:
            progress(done, total, name)

    return report


def _finding(view: RunView, rule: Rule, hit: Hit, settings: Settings) -> Finding:
    tensor = view.tensors[hit.tensor]
    return Finding(
        rule=rule.name,
        title=rule.heading,
        severity=rule.severity if rule.severity_set else hit.severity or rule.severity,
        text=hit.text,
        tensor=tensor.name,
        node=tensor.node,
        graph=tensor.graph,
        op_type=tensor.op_type,
        layer=tensor.layer,
        variable=view.roles(tensor.graph).read_variable(tensor.row),
        first_step=hit.first_step,
        last_step=hit.last_step,
        steps=hit.steps,
        of=hit.of,
        evidence=hit.evidence,
        looked_at=hit.looked_at,
        help=hit.help or rule.help,
        source=rule.source,
        thresholds=dict(rule.thresholds),
        next_look=hit.next_look or rule.next_look,
        muted=settings.mutes(rule.name, tensor.name, hit.text),
        frame=_frame(view.run, tensor.graph, hit.source_node) if hit.source_node else hit.frame,
    )


def _with_source(run: RunIndex, finding: Finding, number: int) -> Finding:
    if number >= _SOURCES or finding.frame is not None:
        return finding
    return replace(finding, frame=_frame(run, finding.graph, finding.node))


def _frame(run: RunIndex, graph: str, node: str) -> FrameDetail | None:
    try:
        return source_line(run, node, graph)
    except TensortapError:
        return None
