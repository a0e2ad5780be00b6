"""Known vulnerabilities of what is installed and bundled: `pip-audit` and `npm audit`.

Both ask a database on the network. Where it cannot be had this says so and ends with 75 ("try again"), never
with 0: no answer is no clean bill.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
UNKNOWN = 75


def python_packages() -> int:
    """0: none known; 1: some are; 75: nobody could be asked."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "pip-audit>=2.7"]
    if subprocess.run(install, capture_output=True, check=False).returncode:
        return unknown("pip-audit", "it cannot be installed")
    audit = [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"]
    done = subprocess.run(audit, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return unknown("pip-audit", done.stderr.strip().rpartition("\n")[2][:200])
    return judged([each for each in packages if each["name"] != "tensortap"])


def judged(packages: list[dict[str, Any]]) -> int:
    """What pip-audit says of them, told and as a status: a package that it left out is no clean one."""
    skipped = [each["name"] for each in packages if each.get("skip_reason")]
    found = [f"{each['name']}: {bad['id']}" for each in packages for bad in each.get("vulns", ())]
    if known := len(packages) - len(skipped):
        print(f"pip-audit: {known} packages looked up, {', '.join(found) or 'nothing known'}")
    if found:
        return 1
    return unknown("pip-audit", f"nothing about {len(skipped)} packages") if skipped else 0


def page_packages() -> int:
    """The same for the packages of package-lock.json."""
    audit = ["npm", "audit", "--omit=dev", "--json"]
    try:
        done = subprocess.run(audit, cwd=CHECKOUT / "frontend", capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)["metadata"]["vulnerabilities"]
    except (OSError, ValueError, KeyError):
        return unknown("npm audit", "the registry gave no answer")
    print(f"npm audit: {found['total']} known vulnerabilities in what the page carries")
    return int(found["total"] > 0)


def unknown(tool: str, why: str) -> int:
    print(f"{tool}: not known, as its data cannot be had here ({why}).", file=sys.stderr)
    return UNKNOWN


if __name__ == "__main__":
    results = [python_packages(), page_packages()]
    sys.exit(1 if 1 in results else max(results))
