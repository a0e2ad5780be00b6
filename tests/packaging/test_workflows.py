"""The workflows, as far as they can be checked without running them: what they call is there and bounded."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
TRIGGERS = {"push", "pull_request"}
RUNNERS = {"ubuntu-latest", "macos-latest", "windows-latest", "${{ matrix.system }}"}
RIGHTS = {"release/publish": {"id-token": "write"}, "release/release": {"contents": "write"}}


def read(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in read(path)["jobs"].items():
            yield f"{path.stem}/{name}", job


def steps() -> Iterator[dict[str, Any]]:
    for _, job in jobs():
        yield from job["steps"]


def commands() -> list[str]:
    """The calls of make."""
    return [part for step in steps() for part in re.findall(r"make [^&|;#\n]+", step.get("run", ""))]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_its_parts_and_no_rights(path: Path) -> None:
    workflow = read(path)
    assert workflow.keys() <= {"name", True, "permissions", "env", "jobs"}  # True: YAML's word for `on`
    assert workflow["name"] == path.stem
    assert set(workflow[True]) <= TRIGGERS
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["runs-on"] in RUNNERS
        assert 0 < job["timeout-minutes"] <= 60, name
        assert {job["needs"]} <= workflow["jobs"].keys() if "needs" in job else True
        assert job.get("permissions", {}) == RIGHTS.get(f"{path.stem}/{name}", {})


def test_steps_use_known_actions_by_their_commit_and_no_secrets() -> None:
    """A tag of an action can be moved to other code, a commit cannot; the version is told beside it."""
    for step in steps():
        assert ("uses" in step) != ("run" in step)
        assert step.keys() <= {"uses", "run", "with", "env", "name", "if", "shell", "continue-on-error"}
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        used = re.findall(r"uses: (.*)", text)
        for each in used:
            assert re.fullmatch(r"(actions|pypa)/[a-z-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each), each
        assert "secrets." not in text and "://" not in text


def test_an_action_has_one_version() -> None:
    used = {step["uses"].partition("@")[::2] for step in steps() if "uses" in step}
    assert len(dict(used)) == len(used)


def test_a_release_has_the_list_of_its_parts() -> None:
    job = read(CHECKOUT / ".github" / "workflows" / "release.yml")["jobs"]["release"]
    assert {"dist/*", "sbom/sbom.cdx.json"} <= set(job["steps"][-1]["run"].split())


def test_what_make_is_asked_for_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    assert len(commands()) >= 6
    for command in commands():
        for word in command.split()[1:]:
            variable, assigned, _ = word.partition("=")
            assert f"$({variable})" in MAKEFILE if assigned else word in targets, command


def test_locked_installs_nothing_but_what_is_locked() -> None:
    """Neither do builds fetch a setuptools of their own."""
    assert [read(path)["env"] for path in WORKFLOWS] == [{"LOCKED": "1"}] * len(WORKFLOWS)
    targets = ["build", "sbom", "docs", "fuzz", "lint", "types", "test-python"]
    make = ["make", "-n", "-B", "LOCKED=1", "PYTHON=python", *targets]
    recipes = subprocess.run(make, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    installs = [line for line in recipes.splitlines() if " install " in line]
    assert len(installs) == 2
    for line in installs:
        assert "--require-hashes" in line or {"--no-deps", "--no-build-isolation"} <= set(line.split())
    assert recipes.count("-m build ") == recipes.count("-m build --no-isolation ") == 1


def test_what_is_downloaded_was_uploaded() -> None:
    for path in WORKFLOWS:
        up, down = (artifacts(path, kind) for kind in ("upload-artifact", "download-artifact"))
        assert set(down) <= set(up)
        assert len(set(up)) == len(up)


def artifacts(path: Path, action: str) -> list[str]:
    every = [step for job in read(path)["jobs"].values() for step in job["steps"]]
    return [step["with"]["name"] for step in every if action in step.get("uses", "")]


def test_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f'version = "{project["version"]}"' in (CHECKOUT / "pyproject.toml").read_text().splitlines()
    least = project["requires-python"].removeprefix(">=")
    tested = next(job["strategy"]["matrix"]["python"] for name, job in jobs() if name == "test/test")
    assert tested[0] == least
    for step in steps():
        asked = step.get("with", {}).get("python-version", least)
        assert asked in [*tested, "${{ matrix.python }}"]
    node = re.search(r'"node": ">=(\d+)', (CHECKOUT / "frontend" / "package.json").read_text())
    assert node is not None
    for step in steps():
        assert int(step.get("with", {}).get("node-version", node[1])) >= int(node[1])
