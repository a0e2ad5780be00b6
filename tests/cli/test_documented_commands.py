"""Every `tensortap …` line of README and docs is understood and run, on small dumps.

Buckets, web servers, shared disks and Dask clusters are replaced by those of this machine.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import range_server
from documents import DOCUMENTS, blocks
from s3_server import s3_server
from safetensors.numpy import save_file

from tensortap.__main__ import main
from tensortap.cli.main import build_parser
from tensortap.core.records import Graph, Node
from tensortap.dump.write import worker_files
from tensortap.dump.write.writer import DumpWriter

Run = Callable[..., tuple[int, str, str]]
# Of the others, `replay`, `step` and `bundle` are run by tests/replay/test_documented_commands.py, `demo` by
# test_sample_outputs.py, and `serve` below.
RUN = (
    *("ls", "show", "nan", "rules", "ledger", "info", "check", "export", "diff", "import", "prune", "sql"),
    *("compact", "story"),
)
STEPS = 31
WORKERS = ("gpu1-4711-5d0c9a2e", "gpu2-4688-17f03b64")


def _plain(text: str) -> str:
    """Without an explanation behind it, and without what a shell does with the output."""
    return re.split(r" \| | > [a-z]\S*$", re.split(r" {2,}(?=\S+ )", text)[0])[0].strip()


def documented() -> list[str]:
    """The lines of code blocks that call the command; without what follows in a pipe, and comments."""
    found: dict[str, None] = {}
    for document in DOCUMENTS.values():
        for line in document.read_text(encoding="utf-8").splitlines():
            match = re.match(r"(?: {4}|\$ )?(tensortap [a-z].*)", line)
            if match and (line.startswith((" ", "$")) or "`" not in line):
                found.setdefault(_plain(match[1]))
    return [line for line in found if not line.startswith("tensortap serves")]


LINES = documented()


def arguments_of(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("line", LINES)
def test_it_is_understood(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        build_parser().parse_args(arguments_of(line))
    except SystemExit as end:
        assert end.code == 0, capsys.readouterr().err


def runs_named() -> set[str]:
    """The runs of `logs` that lines which are run speak of."""
    words = {word for line in LINES for word in arguments_of(line) if re.fullmatch(r"logs/[\w-]+", word)}
    return {word.removeprefix("logs/") for word in words}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`logs` with the runs that the documents speak of, and the files that they read."""
    folder = tmp_path_factory.mktemp("documented")
    for run in runs_named():
        write_run(folder / "logs", run)
    with pytest.MonkeyPatch.context() as patch:
        for worker in WORKERS:
            patch.setattr(worker_files, "new_worker_name", lambda worker=worker: worker)
            write_run(folder / "logs", "digits")
            write_run(folder / "logs", "parallel")
    for name in ("checkpoints", "ckpt"):
        (folder / name).mkdir()
        np.save(folder / name / "kernel.npy", np.ones((2, 2), np.float32))
    save_file({"encoder/kernel": np.ones(3, np.float32)}, folder / "model.safetensors")
    (settings,) = (block.text for block in blocks("problems.md") if block.language == "toml")
    (folder / "mine.toml").write_text(settings, encoding="utf-8")
    export = ["export", str(folder / "logs/digits"), "--format", "tensorboard", "--out"]
    assert main([*export, str(folder / "tensorboard-logs")]) == 0
    return folder


def write_run(logdir: Path, run: str) -> None:
    """A run with a convolution, and a product below `old` or `new` in the runs of these names."""
    with DumpWriter(logdir, run) as writer:
        product = f"{run}/MatMul" if run in ("old", "new") else "dense/MatMul"
        nodes = [
            Node("digits_1/conv1_1/Relu", "Relu"),
            Node("digits_1/hidden_1/Cast/ReadVariableOp", "ReadVariableOp"),
            Node(product, "MatMul"),
            Node("kernel", "VarHandleOp"),
        ]
        graph = writer.graph(Graph("train", nodes))
        for step in range(STEPS):
            value = np.ones((2, 4, 4, 4), np.float32)
            if step > 20:
                value[0] = np.nan
            for node in nodes:
                writer.log(f"{node.name}:0", value, step=step, graph=graph, keep="value")


MAKE_BUCKET = """
import sys, s3fs
files = s3fs.S3FileSystem()
files.mkdir("bucket")
for folder, name in (("logs", "logs"), ("checkpoints", "model-100"), ("weights", "weights")):
    files.put(f"{sys.argv[1]}/{folder}", f"bucket/{name}", recursive=True)
"""


@pytest.fixture(scope="module")
def bucket(logs: Path) -> Iterator[Mapping[str, str]]:
    """The environment of programs that read `s3://bucket`, which has the runs and files of `logs`."""
    (logs / "weights").mkdir()
    (logs / "weights" / "model.safetensors").write_bytes((logs / "model.safetensors").read_bytes())
    with s3_server() as server:
        command = [sys.executable, "-c", MAKE_BUCKET, str(logs)]
        subprocess.run(command, env={**os.environ, **server}, check=True)
        yield server


@pytest.fixture(scope="module")
def website(logs: Path) -> Iterator[str]:
    """The address of a web server with `shared/logs` and `mail/digits.tap.zip`."""
    (logs / "web" / "mail").mkdir(parents=True)
    (logs / "web" / "shared").mkdir()
    (logs / "web" / "shared" / "logs").symlink_to(logs / "logs")
    assert main(["export", str(logs / "logs/digits"), "--out", str(logs / "web/mail/digits.tap.zip")]) == 0
    with range_server.serving(logs / "web") as server:
        yield server.address


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a Dask scheduler with a worker."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    ) as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture
def at_hand(
    request: pytest.FixtureRequest, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], list[str]]:
    """The arguments of a line, run in `logs`, with servers and folders of this machine."""
    monkeypatch.chdir(logs)

    def arguments(line: str) -> list[str]:
        # Google's buckets have a test with an emulator, tests/storage/test_arrow_buckets.py.
        line = line.replace("gs://", "s3://").replace(" /shared/logs", f" {logs / 'logs'}")
        if "s3://" in line:
            for name, value in request.getfixturevalue("bucket").items():
                monkeypatch.setenv(name, value)
        if "https://host" in line:
            line = line.replace("https://host", request.getfixturevalue("website"))
        if "dask://" in line:
            line = re.sub(r"dask://[\w.]+:\d+", request.getfixturevalue("scheduler"), line)
        return arguments_of(line)

    return arguments


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[1] in RUN])
def test_it_runs(line: str, run: Run, at_hand: Callable[[str], list[str]]) -> None:
    arguments = at_hand(line)
    if "--follow" in arguments:
        pytest.skip("never ends")
    for at, argument in enumerate(arguments):
        if argument == "--out":  # several lines write the same file
            Path(arguments[at + 1]).unlink(missing_ok=True)
    status, out, err = run(*arguments)
    differ = arguments[0] == "diff" or "--fail-on" in line or "dense_2" in line
    assert status == 0 or (status == 1 and differ and not err), err
    assert out or "--out" in line


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[1] == "watch"])
def test_a_running_job_gets_a_watch(
    line: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = arguments_of(line)
    with DumpWriter("logs", arguments[1].removeprefix("logs/")):
        status, out, err = run(*arguments)
    assert (status, err) == (0, "") and out


@pytest.mark.parametrize("line", [line for line in LINES if line.split()[1] == "serve"])
def test_it_serves(
    line: str,
    run: Run,
    start: Callable[..., subprocess.Popen[str]],
    at_hand: Callable[[str], list[str]],
) -> None:
    """A served address is printed, has a run, and is given up after Ctrl-C."""
    arguments = at_hand(line)
    if not Path("digits.tap.zip").exists():
        assert run("export", "logs/digits", "--out", "digits.tap.zip")[0] == 0
    server = start(*arguments, "--port", "0")
    assert server.stdout is not None
    printed = ""
    while (found := re.search(r"(http://\S+?/)\?token=(\S+)\n", printed)) is None:
        line = server.stdout.readline()
        assert line, server.communicate()
        printed += line
    address, token = found.groups()
    request = urllib.request.Request(f"{address}api/runs", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert json.load(answer)["runs"]
    server.send_signal(signal.SIGINT)
    assert server.wait(60) == 0, server.communicate()
