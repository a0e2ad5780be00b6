"""Writes what an installation and its page consist of, as CycloneDX JSON: `.ci/sbom.py OUT`.

Python: the closure of tensortap's own requirements (no extras), in the versions installed here. The page:
what package-lock.json says is bundled (development tools are skipped).
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import quote

CHECKOUT = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")
Component = dict[str, Any]


def closure(name: str) -> dict[str, Distribution]:
    """The distributions that an installation of `name` brings: name -> distribution, without itself."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        for requirement in distribution(waiting.pop()).requires or ():
            match = _NAME.match(requirement)
            if match is None or "extra ==" in requirement:
                continue
            needed = re.sub(r"[-_.]+", "-", match[0]).lower()
            try:
                if needed not in found:
                    found[needed] = distribution(needed)
                    waiting.append(needed)
            except PackageNotFoundError:  # a marker leaves it out on this system
                continue
    return found


def component(kind: str, name: str, version: str, licence: str) -> Component:
    """An entry of the list; `kind` is that of its package URL: pypi or npm."""
    made: Component = {"type": "library", "name": name, "version": version}
    made["purl"] = f"pkg:{kind}/{quote(name, safe='/')}@{quote(version)}"
    made["bom-ref"] = made["purl"]
    if licence:
        made["licenses"] = [{"license": {"name": licence}}]
    return made


def licence_of(found: Distribution) -> str:
    """Its SPDX expression, or the first line of what it says."""
    said = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
    return str(said).strip().partition("\n")[0][:100]


def bundled() -> list[Component]:
    """What the page carries."""
    lock = json.loads((CHECKOUT / "frontend" / "package-lock.json").read_text(encoding="utf-8"))
    return [
        component("npm", path.rpartition("node_modules/")[2], entry["version"], entry.get("license", ""))
        for path, entry in sorted(lock["packages"].items())
        if path and not entry.get("dev") and not entry.get("devOptional")
    ]


def sbom() -> dict[str, Any]:
    """The document; the same for the same versions."""
    own = distribution("tensortap")
    python = [
        component("pypi", name, found.version, licence_of(found))
        for name, found in sorted(closure("tensortap").items())
    ]
    document: dict[str, Any] = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    subject = component("pypi", "tensortap", own.version, licence_of(own)) | {"type": "application"}
    document["metadata"] = {"component": subject}
    document["components"] = [*python, *bundled()]
    document["dependencies"] = [
        {"ref": subject["bom-ref"], "dependsOn": [each["bom-ref"] for each in document["components"]]}
    ]
    return document


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.write_text(json.dumps(sbom(), indent=1, ensure_ascii=False) + os.linesep, encoding="utf-8")
    print(f"{out}: {len(sbom()['components'])} components")
