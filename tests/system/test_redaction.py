"""The command line in a run: of use to its reader, and without what is secret in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensortap.dump.write.writer import DumpWriter
from tensortap.system.redaction import recorded_command

# Forms in which programs take secrets, one argument a word; `S` stands for the secret.
_FORMS = [
    form.split("|")
    for form in (
        "--token|S", "--tok|S", "--tokens|S", "--hf_token=S", "--wandbAPIKey=S", "--api-keys=S",
        "--accesstoken|S", "--keys|S",
        "--access_key_id|S", "--api-key-value|S", "--secretkey=S",
        "--aws-secret-access-key|S", "--wandb-key-1|S",
        "--credential|S", "--creds=S", "--credentials|user|S", "--passcode|S", "--pw|S", "-password|S",
        "--db-password|S", "--dbpassword|S", "--password:S", "/password:S", "/password|S", "password|S",
        "--password=|S", "--x|password: |S", "--keys=[|S", "--Password|S", "--auth|me|S", "--pat|S",
        "--sas=S", "--slack-webhook|S",
        "wandb.api_key=S", "+wandb.api_key=S", "++db.password=S", "~secret=S", "HF_TOKEN=S", "'api_key=S'",
        "--conf=fs.s3a.secret.key=S", "--opts|a=1,password=S", "--opts=password,S", "--set|password|S",
        '--json={"password": "S"}', '--json={"password":|"S"}', "db={password:S}",
        "--args=--lr 3 --password S",
        "--header|Authorization: Bearer S", "--header|Authorization:|Bearer|S", "-H|Bearer S",
        "u:S@host:/x", "--scp=u:S@host", "http://u:S@host:81/m.h5", "http://S@host/m.h5?v=1", "s3://u:12/S@b/y",
        "http://a/b,http://u:S@c/d", "zip://run::https://u:S@host/a.zip", "mysql+pymysql://u:S@h/db",
        "http://host/p?S", "http://host/p?v=1&x=S", "http://host/p#access_token=S", "http://host/p;jsessionid=S",
    )
]  # fmt: skip


@given(
    st.text("Ω@:/?#=,;&-+.~ '\"[]{}()%|!", max_size=8),
    st.text("Ω@:/?#=,;&-+.~ '\"[]{}()%|!", max_size=8),
)
def test_no_letter_of_a_secret_is_recorded(before: str, behind: str) -> None:
    for form in _FORMS:
        typed = [part.replace("S", f"{before}Ω{behind}") for part in form]
        recorded = recorded_command(["train.py", *typed, "--lr", "3"])
        assert "Ω" not in "".join(recorded), typed
        assert recorded[0] == "train.py" and recorded[-2:] == ["--lr", "3"]


@pytest.mark.parametrize(
    ("typed", "recorded"),
    [
        (["http://me:x1@host:81/m.h5?X-Amz-Signature=abc"], ["http://…@host:81/m.h5?…"]),
        (["--data=s3://me:x1/@bucket/a b?v=1"], ["--data=s3://…@bucket/a b?…"]),
        (["http://a/b?mail=me@host"], ["http://…"]),
        (["--token", "tok", "logs", "-n", "3"], ["--token", "…", "…", "-n", "3"]),
        (["--password", "--Xy7"], ["--password", "…"]),
        (["+wandb.api_key=tok", "lr=3"], ["+wandb.api_key=…", "lr=3"]),
        (["--opts", "a=1,password=x"], ["--opts", "a=1,password=…"]),
        (["--max-tokens", "512"], ["--max-tokens", "…"]),
        (["--use-auth", "--lr", "3"], ["--use-auth", "--lr", "3"]),
        (["x.py::f[a?]", "a=b", "--tokenizer", "bert"], ["x.py::f[a?]", "a=b", "--tokenizer", "bert"]),
        (["--data", "in/tokens.csv", "out", "git@host:x"], ["--data", "in/tokens.csv", "out", "git@host:x"]),
        (["--token"], ["--token"]),
        ([""], [""]),
    ],
)  # fmt: skip
def test_what_is_secret_is_skipped_and_the_rest_stays(typed: list[str], recorded: list[str]) -> None:
    assert recorded_command(["train.py", *typed]) == ["train.py", *recorded]


@pytest.mark.parametrize("text", ["ab12", "@://u:", "key"])
def test_an_argument_of_a_megabyte_is_read_in_linear_time(text: str) -> None:
    assert len(recorded_command(["--bytes", text * (2**20 // len(text))])) == 2


def test_a_run_holds_no_secret_of_its_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["train.py", "--epochs", "3", "--token", "hunter2", "--data", "s3://me:hunter2@b/x?sig=hunter2"]
    monkeypatch.setattr(sys, "argv", argv)
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("a", 1.0, step=0)

    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"hunter2" in data for data in files)
    command = json.loads((tmp_path / "r" / "run.json").read_text())["info"]["command"]
    assert command == ["train.py", "--epochs", "3", "--token", "…", "--data", "s3://…@b/x?…"]
