"""No code block of README and docs escapes: a test named here runs it, or it is told to be no code."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from documents import DOCUMENTS, OUTSIDE, Block, blocks

TESTS = Path(__file__).parent
PYTHON = {  # document -> the test that runs all its Python
    "README.md": "test_readme.py",
    "capture.md": "capture/test_docs.py",
    "how-to/": "capture/test_examples.py",
    "hunts.md": "cli/test_hunts.py",
    "problems.md": "cli/test_documented_code.py",
    "python.md": "index/test_documented.py",
    "remote.md": "cli/test_documented_code.py",
    "replay.md": "replay/test_documented.py",
    "server.md": "cli/test_documented_code.py",
    "store.md": "cli/test_documented_code.py",
    "tutorial.md": "test_tutorial.py",
}
TOML = {"problems.md": "cli/test_documented_code.py"}
PRINTED = {  # (document, how the block begins) -> the test that compares it with what is printed
    ("diff.md", "$ tensortap diff logs/first"): "cli/test_sample_outputs.py",
    ("hunts.md", "$ tensortap "): "cli/test_hunts.py",
    ("problems.md", "$ tensortap nan demo-logs/digits-nan"): "cli/test_sample_outputs.py",
    ("replay.md", "not finite after the step"): "cli/test_sample_outputs.py",
    ("server.md", "tensortap serves logs at"): "cli/test_documented_code.py",
    ("tutorial.md", "first, step 28"): "test_tutorial.py",
}
NO_CODE = {  # (document, how the block begins): Slurm, a layout, an address, figures of a benchmark
    ("how-to/run-on-a-cluster.md", "from dask_jobqueue import"),
    ("import.md", "dumps/step_12/dense/kernel.npy"),
    ("page.md", "#run="),
    ("store.md", " " * 40 + "1  "),
}
# Lines of a shell. `tensortap …` is run by the two test_documented_commands.py, `curl` by
# test_documented_code.py, train.py and fixed.py by test_tutorial.py, pdb by replay/test_script.py.
# Not run: `pip` (needs a network), `docker` (an engine), `kubectl` (a cluster), `ssh` (another machine) and
# `make` (it sets up a checkout). A shell parses them below, and what they name must exist. What the image and
# the manifests run is tested in tests/docker; no installed package has a schema of Kubernetes.
SHELL = r"tensortap |make\b|docker (run|compose|build) |kubectl "
SHELL += r"|ssh |curl |python (-[mc]|train\.py|fixed\.py)|export |echo "
BLOCKS = [block for document in DOCUMENTS for block in blocks(document)]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.document}:{block.line}")
def test_a_block_is_run_or_no_code(block: Block) -> None:
    if block.language == "python":
        assert runner_of(block.document), "name the test that runs it"
    elif block.language == "toml":
        assert block.document in TOML, "name the test that reads it"
    else:
        assert block.language in (None, "text"), "a fence says its language"
        if not any(
            block.document == name and block.text.startswith(begin) for name, begin in {*NO_CODE, *PRINTED}
        ):
            lines = [line for line in block.text.splitlines() if line]
            assert lines and [line for line in lines if not re.match(SHELL, line)] == []


def runner_of(document: str) -> str | None:
    """The test that runs the Python of a document, or of all in its folder."""
    return PYTHON.get(document) or PYTHON.get(f"{document.partition('/')[0]}/")


def test_what_is_named_is_there() -> None:
    for document, test in {**PYTHON, **TOML}.items():
        assert document.rstrip("/") in (TESTS / test).read_text(encoding="utf-8") or document == "hunts.md"
        assert any(block.document.startswith(document) and block.language for block in BLOCKS), document
    for document, begin in {*NO_CODE, *PRINTED}:
        assert any(block.document == document and block.text.startswith(begin) for block in BLOCKS), begin
    for test in PRINTED.values():
        assert (TESTS / test).exists(), test


def test_the_other_documents_only_show_layouts() -> None:
    """FORMAT.md, ARCHITECTURE.md and server/http_api.md: no program, and no command but those of `make`."""
    for block in (block for name in OUTSIDE for block in blocks(name)):
        lines = [line for line in block.text.splitlines() if re.match(SHELL, line)]
        assert (
            block.language in (None, "text") and [line for line in lines if not line.startswith("make")] == []
        )


def test_the_targets_of_make_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (TESTS.parent / "Makefile").read_text(), re.MULTILINE))
    contributing = [*BLOCKS, *blocks("CONTRIBUTING.md")]
    lines = [
        line for block in contributing for line in block.text.splitlines() if re.match(r"make +\w", line)
    ]
    assert len(lines) >= 3
    assert {line.split()[1] for line in lines} <= targets


def test_a_shell_can_parse_its_lines() -> None:
    lines = [line for block in BLOCKS for line in block.text.splitlines() if re.match(SHELL, line)]
    assert len(lines) > 100
    for line in lines:
        if not line.startswith("tensortap "):  # their tests split words like a shell; some end in a note
            subprocess.run(["sh", "-n"], input=line, text=True, check=True)


def test_files_and_objects_that_lines_name_are_there() -> None:
    text = "\n".join(block.text for block in BLOCKS)
    files = re.findall(r"--file(?:name)? (\S+)", text)
    assert len(files) >= 5
    assert [file for file in files if not (TESTS.parent / file).is_file()] == []
    paths = (TESTS.parent / "docker").glob("kubernetes-*.yaml")
    manifests = "---\n".join(path.read_text(encoding="utf-8") for path in paths)
    objects = list(yaml.safe_load_all(manifests))
    services = {each["metadata"]["name"] for each in objects if each["kind"] == "Service"}
    named = set(re.findall(r"kubectl \S+ service/(\S+)", text))
    assert named and named <= services
    secrets = set(re.findall(r"secretKeyRef: \{name: (\S+), key: (\S+)\}", manifests))
    assert secrets == set(re.findall(r"create secret generic (\S+) --from-literal=(\w+)=", text)) != set()


def test_extras_that_are_installed_are_declared() -> None:
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS.values())
    named = {extra for found in re.findall(r"tensortap\[([a-z,]+)\]", text) for extra in found.split(",")}
    assert {"tensorflow", "demo", "dask", "remote"} <= named <= project["optional-dependencies"].keys()
