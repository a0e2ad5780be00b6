"""Who asks for a value that is not there is told why, and what helps: everywhere in the same words."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensortap
from tensortap.__main__ import main
from tensortap.core.errors import ValueNotKeptError
from tensortap.dump.format.row_checks import Snapshot
from tensortap.dump.maintenance.pruning import prune_run
from tensortap.dump.maintenance.repair import repair_run
from tensortap.dump.write import values_writer
from tensortap.dump.write.retention import Retention
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app
from tensortap.storage import append_file

VALUE = np.arange(5000.0)
LOST = "was lost: the disk could not store it, e.g. because it was full"


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`r`, repaired after a full disk and a changed byte (in `kept`); a run that was pruned; an import."""
    found = tmp_path_factory.mktemp("logs")
    with DumpWriter(found / "whole", "r", compression=None) as writer:
        writer.log("old", VALUE, step=0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(append_file.os, "write", full)
            for log in (
                lambda: writer.log("refused", VALUE, step=1),
                lambda: writer.log_many([Snapshot(name, VALUE) for name in ("first", "behind")], step=1),
            ):
                with pytest.raises(OSError, match="No space"):
                    log()
        writer.log("asked", VALUE, step=1, keep="summary")
        writer.log("kept", VALUE, step=1)
    (values,) = (found / "whole/r").rglob("values-*.safetensors")
    data = bytearray(values.read_bytes())
    data[values_writer.HEADER + VALUE.nbytes + 8] ^= 1  # of `kept`
    values.write_bytes(data)
    repair_run(found / "whole/r", found / "r")
    with DumpWriter(found, "pruned") as writer:
        for step in (0, 1):
            writer.log("old", VALUE + step, step=step)
    prune_run(found / "pruned", Retention(keep_last=1))
    with DumpWriter(found, "imported", info={"imported from": "x", "format": "tfdbg2"}) as writer:
        writer.log("t", VALUE, step=0, keep="summary")
    return found


CASES = [
    ("r", "refused", 1, "refused", LOST, "Free disk space"),
    ("r", "first", 1, "refused", LOST, "Free disk space"),
    ("r", "behind", 1, "refused", LOST, "Free disk space"),
    (
        "r",
        "kept",
        1,
        "damaged",
        "was lost: it was missing or damaged when the run was repaired",
        "on the original run",
    ),
    ("r", "asked", 1, "summary", "was not stored: only the summary was captured", 'keep="value"'),
    ("pruned", "old", 0, "pruned", "was pruned: it was removed to save space", "keep_last"),
    (
        "imported",
        "t",
        0,
        "source",
        "was not stored: the imported data (tfdbg2) have no value for it",
        "",
    ),
]


@pytest.mark.parametrize(("run", "tensor", "step", "code", "said", "fix"), CASES)
def test_why_there_is_no_value(
    logs: Path,
    capsys: pytest.CaptureFixture[str],
    run: str, tensor: str, step: int, code: str, said: str, fix: str,
) -> None:  # fmt: skip
    lazy = tensortap.open(logs).runs[run].tensor(tensor, step=step)
    with pytest.raises(ValueNotKeptError) as reported:
        lazy[:]
    assert said in reported.value.message and fix in reported.value.hint
    assert ('keep="value"' in str(reported.value)) == (code == "summary"), "only where it would have helped"
    where = [str(logs / run), tensor, "--step", str(step)]
    assert main(["show", *where]) == 0
    heading = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("values: "))
    assert said.removeprefix("was ") in heading and fix in heading
    assert main(["show", *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["no_value"] == code
    assert main(["show", *where, "--selection", "0"]) == 1
    assert said in capsys.readouterr().err


def test_the_api_tells_the_same(logs: Path) -> None:
    client = create_app(logs).test_client()
    ids = {run["name"]: run["id"] for run in client.get("/api/runs").get_json()["runs"]}
    for run, tensor, step, code, said, fix in CASES:
        asked: dict[str, Any] = {"tensor": f"{tensor}:0", "step": step}
        (row,) = client.get(f"/api/runs/{ids[run]}/snapshots", query_string=asked).get_json()["rows"]
        assert (row["kept"], row["no_value"]) == (False, code)
        answer = client.get(f"/api/runs/{ids[run]}/value", query_string=asked)
        assert answer.status_code == (410 if code == "pruned" else 404)
        assert said in answer.get_json()["error"] and fix in answer.get_json()["hint"]
    (row,) = client.get(f"/api/runs/{ids['r']}/snapshots?tensor=old:0").get_json()["rows"]
    assert (row["kept"], row["no_value"]) == (True, "")


def test_a_damaged_value_hides_no_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("x", VALUE, step=0)
    next(tmp_path.rglob("values-*.safetensors")).unlink()
    assert main(["show", str(tmp_path / "r"), "x"]) == 1
    out = capsys.readouterr().out
    assert "4,999" in out and "values: cannot be read: values-000000.safetensors is missing." in out
