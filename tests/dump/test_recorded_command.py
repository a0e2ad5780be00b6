"""The command line in a run: of use to its reader, and without what is secret in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tensortap.dump import DumpWriter, recorded_command


@pytest.mark.parametrize(
    ("typed", "recorded"),
    [
        (["http://user:pw@host:81/m.h5?X-Amz-Signature=abc"], ["http://host:81/m.h5"]),
        (["--data=s3://key:pw/@bucket/a b?v=1"], ["--data=s3://bucket/a b"]),
        (["http://a/b,http://u:pw@c/d"], ["http://a/b,http://c/d"]),
        (["zip://run::https://u:pw@host/a.zip?sig=abc"], ["zip://run::https://host/a.zip"]),
        (["--token", "tok", "logs"], ["--token", "…", "logs"]),
        (["--tok", "-tok"], ["--tok", "…"]),
        (["--hf_token=tok"], ["--hf_token=…"]),
        (["--db-password", "pw"], ["--db-password", "…"]),
        (["wandb.api_key=tok", "HF_TOKEN=tok"], ["wandb.api_key=…", "HF_TOKEN=…"]),
        (["--wandbAPIKey=tok"], ["--wandbAPIKey=…"]),
        (["--aws-secret-access-key", "tok"], ["--aws-secret-access-key", "…"]),
        (["--use-auth", "--lr", "3"], ["--use-auth", "--lr", "3"]),
        (["--pad-token-id", "0", "--max-tokens", "512"], ["--pad-token-id", "0", "--max-tokens", "512"]),
        (["x.py::f[a?]", "a=b", "--tokenizer", "bert"], ["x.py::f[a?]", "a=b", "--tokenizer", "bert"]),
        (["--token"], ["--token"]),
    ],
)  # fmt: skip
def test_what_is_secret_is_left_out_and_the_rest_stays(typed: list[str], recorded: list[str]) -> None:
    assert recorded_command(["train.py", *typed]) == ["train.py", *recorded]


def test_a_run_holds_no_secret_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["train.py", "--epochs", "3", "--token", "hunter2", "--data", "s3://me:hunter2@b/x?sig=hunter2"]
    monkeypatch.setattr(sys, "argv", argv)
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", 1.0, step=0)

    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"hunter2" in data for data in files)
    command = json.loads((tmp_path / "r" / "run.json").read_text())["info"]["command"]
    assert command == ["train.py", "--epochs", "3", "--token", "…", "--data", "s3://b/x"]
