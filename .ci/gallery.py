"""Trains eight programs with a mistake each, and writes what was found: `python .ci/gallery.py FOLDER`.

FOLDER gets a story (one HTML file, `tensortap story`) and a run (`.tap.zip`) of each, and `findings.json`.
The docs show them (.ci/docs_site.py); `make docs` runs this before. Programs: benchmarks/_bugs.py and
tests/support/compare_changes.py.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
CHECKOUT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(CHECKOUT / "benchmarks"), str(CHECKOUT / "tests/support")]

PROGRAMS = {  # program -> what its author sees
    "log_of_zero": "The loss is NaN from the first step.",
    "negative_bias": "The loss stays at ln(3), as if the model were guessing.",
    "regression_explodes": "The loss grows to infinity.",
    "softmax_twice": "Training works, but slowly, and accuracy is low.",
    "layer_never_called": "A second branch makes no difference.",
    "training_false": "The model is good in training and useless afterwards.",
    "bfloat16_weights": "The loss stops falling early.",
}
EACH_STEP = ("regression_explodes", "bfloat16_weights")  # whose rule looks at neighbouring steps
COMPARED = "epsilon", "Two runs of one model drift apart."


def run_name(program: str) -> str:
    return program.replace("_", "-")


def train(logdir: Path, program: str) -> None:
    import _bugs
    import keras

    from tensortap import Tap, Watch

    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    bug = next(each for each in _bugs.BUGS if each.name == program)
    with Tap(
        logdir / run_name(program), watch=Watch(steps=1 if program in EACH_STEP else 4, keep="value")
    ) as tap:
        bug.program(tap, True)


def first_finding(logdir: Path, program: str) -> dict[str, Any]:
    """What `tensortap rules` prints first of its run."""
    from tensortap.analysis.rules.runner import check_rules
    from tensortap.index.logdir_index import LogIndex

    log = LogIndex(logdir)
    log.refresh()
    found = check_rules(next(run for run in log.runs if run.name == run_name(program))).findings[0]
    line = "" if found.frame is None else f"{Path(found.frame.file).name}:{found.frame.line}"
    return {"found": found.text, "by": f"tensortap rules ({found.rule})", "line": line}


def first_difference(logdir: Path) -> dict[str, Any]:
    """What `tensortap diff` names as the cause."""
    from tensortap.analysis.compare.compare import compare
    from tensortap.analysis.compare.side import Side
    from tensortap.index.logdir_index import LogIndex

    log = LogIndex(logdir)
    log.refresh()
    runs = {run.name: run for run in log.runs}
    found = compare(Side(runs["base"]), Side(runs["epsilon"])).first
    assert found is not None
    line = "" if found.frame is None else f"{Path(found.frame.file).name}:{found.frame.line}"
    text = f"The first difference is in {found.difference.tensor}. {found.text}"
    return {"found": text, "by": "tensortap diff", "line": line}


def write(logdir: Path, out: Path, name: str, *options: str) -> None:
    """The story and the run of one finding."""
    from tensortap.cli.main import dispatch

    run = str(logdir / name)
    for command in (
        ["story", run, "--out", str(out / f"{name}.html"), "--max-mb", "8", *options],
        ["export", run, "--out", str(out / f"{name}.tap.zip"), "--viewer"],
    ):
        status = dispatch(command)
        assert not status, command


def make(out: Path, programs: dict[str, str] = PROGRAMS, *, compared: bool = True) -> None:
    out.mkdir(parents=True, exist_ok=True)
    findings = []
    with tempfile.TemporaryDirectory() as temporary:
        logdir = Path(temporary) / "logs"
        for program, seen in programs.items():
            train(logdir, program)
            findings.append({"name": run_name(program), "seen": seen, **first_finding(logdir, program)})
            write(logdir, out, run_name(program))
        if compared:
            import compare_changes

            compare_changes.train(logdir, "base")
            compare_changes.train(logdir, "epsilon", epsilon=1e-5)
            findings.append({"name": COMPARED[0], "seen": COMPARED[1], **first_difference(logdir)})
            write(logdir, out, COMPARED[0], "--compare", str(logdir / "base"))
    (out / "findings.json").write_text(json.dumps(findings, indent=1), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
