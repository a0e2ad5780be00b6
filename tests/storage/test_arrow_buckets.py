"""Buckets through pyarrow: a real S3-compatible server, without fsspec and s3fs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from s3_server import s3_server

from tensortap.core.errors import RemoteReadError
from tensortap.storage import arrow_filesystem
from tensortap.storage.arrow_filesystem import arrow_bucket
from tensortap.storage.filesystem import scan
from tensortap.storage.uri import path_of

MAKES_BUCKET = "import s3fs; s3fs.S3FileSystem().mkdir('bucket')"
PROGRAM = """
import sys
from pathlib import Path
sys.modules.update(dict.fromkeys(("fsspec", "fsspec.core", "s3fs"), None))
import numpy as np
import tensortap
from tensortap.storage.filesystem import scan
from tensortap.storage.uri import path_of

try:
    tensortap.DumpWriter("s3://nobucket/logs")
except OSError as error:
    print(error)
with tensortap.DumpWriter("s3://bucket/logs", "r") as writer:
    for step in range(3):
        writer.log("big", np.arange(50_000, dtype=np.float32) + step, step=step)
run = tensortap.open("s3://bucket/logs").runs["r"]
print(run.tensor("big", step=2)[:3].tolist(), min(len(e.name) for e in scan(path_of("s3://bucket/logs/r"))))
for missing in ("s3://bucket/none", "s3://bucket/logs/r/run.json", "s3://nobucket/logs"):
    try:
        print(scan(path_of(missing)))
    except OSError as error:
        print(type(error).__name__, str(error).split("'")[-2])
"""


def test_a_plain_install_reads_and_writes_s3(tmp_path: Path) -> None:
    with s3_server() as server:
        environment = {**os.environ, **server, "TENSORTAP_SPOOL": str(tmp_path)}
        run = lambda program: subprocess.run(  # noqa: E731
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        run(MAKES_BUCKET)
        lines = run(PROGRAM).stdout.splitlines()
    assert "not there: 's3://nobucket/logs/run'" in lines[0]
    assert lines[1] == "[2.0, 3.0, 4.0] 8"
    assert lines[2:] == [
        "FileNotFoundError s3://bucket/none",
        "NotADirectoryError s3://bucket/logs/r/run.json",
        "FileNotFoundError s3://nobucket/logs",
    ]


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (403, "AccessDenied", "ACCESS_DENIED: the keys are missing or may not do this"),
        (403, "InvalidAccessKeyId", "INVALID_ACCESS_KEY_ID: the keys are wrong"),
        (403, "SignatureDoesNotMatch", "SIGNATURE_DOES_NOT_MATCH: the keys are wrong"),
        (400, "ExpiredToken", "ExpiredToken: the keys have expired"),
        (301, "PermanentRedirect", "PermanentRedirect: the bucket is in another region: set AWS_REGION"),
        (404, "NoSuchBucket", "not there"),
        (400, "InvalidArgument", "cannot be read"),
    ],
)
def test_a_refusal_says_what_to_change(
    status: int, code: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GIVEN a store that refuses, and names keys WHEN a folder is listed THEN one request tells the cause."""
    requests = []

    class Store(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            answer = f"<Error><Code>{code}</Code><Message>AKIASECRET</Message></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Store) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(OSError, match=said) as caught:
            scan(path_of(f"s3://{code.lower()}/logs"))
        server.shutdown()
    assert isinstance(caught.value, FileNotFoundError if status == 404 else RemoteReadError)
    assert "AKIASECRET" not in str(caught.value)
    assert len(requests) == 1


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("listens", [True, False])
def test_a_store_that_does_not_answer(listens: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_filesystem, "_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        if not listens:
            server.close()
        with pytest.raises(RemoteReadError, match="no connection, or no answer in time"):
            scan(path_of(f"s3://silent-{listens}".lower()))


GOOGLE_SERVER = """
import sys
from gcp_storage_emulator.server import create_server

server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
server.start()
print(server._api._httpd.server_port, flush=True)
sys.stdin.read()
"""
GOOGLE_PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(("fsspec", "fsspec.core", "gcsfs"), None))
import numpy as np
import tensortap
from tensortap.storage.filesystem import scan
from tensortap.storage.uri import path_of

with tensortap.DumpWriter("gs://bucket/logs", "r") as writer:
    for step in range(3):
        writer.log("big", np.arange(50_000, dtype=np.float32) + step, step=step)
run = tensortap.open("gs://bucket/logs").runs["r"]
found = scan(path_of("gs://bucket/logs/r"))
print(run.tensor("big", step=2)[:3].tolist(), sorted((e.is_folder, e.name[:8]) for e in found)[0])
"""


def test_a_plain_install_reads_and_writes_google_cloud_storage(tmp_path: Path) -> None:
    """GIVEN an emulator without objects for folders WHEN a run is written THEN its folders are listed."""
    pytest.importorskip("gcp_storage_emulator")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", GOOGLE_SERVER], text=True, **pipes
    ) as server:
        assert server.stdout is not None
        host = f"http://localhost:{server.stdout.readline().strip()}"
        environment = {**os.environ, "STORAGE_EMULATOR_HOST": host, "TENSORTAP_SPOOL": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", GOOGLE_PROGRAM], env=environment, capture_output=True, text=True
        )
        server.kill()
    assert done.stdout.splitlines()[0] == "[2.0, 3.0, 4.0] (False, 'run.json')", done.stderr


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("s3://bucket/logs/", "bucket/logs"),
        ("s3a://bucket", "bucket"),
        ("gs://bucket/a/b c", "bucket/a/b c"),
        ("abfs://box@account.dfs.core.windows.net/logs", "box/logs"),
        ("abfs://box/logs", None),  # of which account is not known
        ("s3://key:secret@bucket/logs", None),
        ("s3://bucket/logs?versionId=1", None),
        ("zip://run::s3://bucket/runs.zip", None),
        ("https://host/logs", None),
    ],
)
def test_addresses(address: str, place: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    found = arrow_bucket(address)
    assert (found and found[1]) == place


def test_the_account_of_azure_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    found = arrow_bucket("az://box/logs")
    assert found is not None
    assert found[1] == "box/logs"
