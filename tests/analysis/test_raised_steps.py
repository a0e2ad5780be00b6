"""A step that raised is told wherever somebody asks what is wrong."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from rich.console import Console
from synthetic_runs import TRAINING

from tensortap.analysis.nonfinite.nan_report import nan_report
from tensortap.analysis.rules.runner import check_rules
from tensortap.cli.commands.info import print_events
from tensortap.cli.views.rules import print_findings
from tensortap.core.records import Graph
from tensortap.dump.write.writer import DumpWriter
from tensortap.index.logdir_index import LogIndex

ERROR = "InvalidArgumentError: Received a label value of 10 which is outside the valid range of [0, 10)."


def test_a_step_that_raised_is_reported_by_rules_nan_and_info(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", list(TRAINING)))
        writer.log("w", np.ones(4, np.float32), step=6, graph=graph)
        writer.event("raised", step=7, error=ERROR, node="loss")
    log = LogIndex(tmp_path)
    log.refresh()
    sentence = f"Step 7 raised in loss: {ERROR}"
    found = check_rules(log.runs[0])
    assert found.raised == [sentence]
    assert nan_report(log.runs[0]).notes[0].startswith(sentence)
    assert nan_report(log.runs[0], 6).notes == []
    out = io.StringIO()
    print_findings("made", found, Console(file=out, width=200), muted=False)
    print_events(Console(file=out, width=200), log.runs[0])
    assert sentence in out.getvalue()
    assert f"step 7: {ERROR} (in loss)" in out.getvalue()


def test_the_origin_of_nan_at_a_step_that_raised_says_so(tmp_path: Path) -> None:
    with DumpWriter(tmp_path, run="made") as writer:
        graph = writer.graph(Graph("step", list(TRAINING)))
        writer.log("w", np.ones(4, np.float32), step=7, graph=graph)
        writer.log("product", np.full(4, np.nan, np.float32), step=7, graph=graph)
        writer.event("raised", step=5, error="ValueError: another one")
        writer.event("raised", step=7, error=ERROR, node="loss")
    log = LogIndex(tmp_path)
    log.refresh()
    report = nan_report(log.runs[0])
    assert (report.step, report.origins[0].node) == (7, "product")
    assert report.notes[0] == f"Step 7 raised in loss: {ERROR}"
    assert not any("another one" in note for note in report.notes)
