"""Runs mypy --strict over the package, and shows the paths of the checkout."""

import re
import subprocess
import sys

from package_tree import CHECKOUT, link_packages

SCRIPTS = [
    "setup.py",
    "frontend/bundle.py",
    ".ci/check_types.py",
    ".ci/check_imports.py",
    ".ci/package_tree.py",
]


def to_checkout(line: str) -> str:
    """`.tools/types/tensortap/server/app.py:3: …` -> `server/app.py:3: …`."""
    line = re.sub(r"^\.tools/types/tensortap/(server|plugin)/", r"\1/", line)
    return re.sub(r"^\.tools/types/", "", line)


def check(arguments: list[str]) -> int:
    """Runs mypy and returns its exit status."""
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=False)
    print("\n".join(to_checkout(line) for line in done.stdout.splitlines()), flush=True)
    return done.returncode


if __name__ == "__main__":
    link_packages()
    sys.exit(max(check(["-p", "tensortap"]), check(SCRIPTS)))
