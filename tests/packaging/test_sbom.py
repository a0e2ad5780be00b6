"""The list of parts names what an installation brings and what the page carries, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def test_the_parts_of_an_installation(tmp_path: Path) -> None:
    out = tmp_path / "sbom.json"
    subprocess.run([sys.executable, str(CHECKOUT / ".ci" / "sbom.py"), str(out)], check=True)
    document = json.loads(out.read_text(encoding="utf-8"))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    names = {part["name"] for part in document["components"]}
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {re.split(r"[<>=!~\[; ]", entry)[0].replace("_", "-") for entry in project["dependencies"]}
    package = json.loads((CHECKOUT / "frontend" / "package.json").read_text(encoding="utf-8"))
    assert required | set(package["dependencies"]) <= names
    assert not {"tensorflow", "pytest", "vite", "typescript", "tensortap"} & names
    assert {"werkzeug", "jinja2"} <= names, "what dependencies bring is told, too"
    for part in document["components"]:
        assert re.fullmatch(r"pkg:(pypi|npm)/\S+@\S+", part["purl"])
    references = {part["bom-ref"] for part in document["components"]}
    assert len(references) == len(document["components"])
    assert set(document["dependencies"][0]["dependsOn"]) == references
