"""Runs mypy --strict over the rooms as the package that they become.

The folders of a checkout are not laid out as packages, so a tree of links is (`.tools/types/tensortap`); the
paths in mypy's report are put back to those of the checkout.
"""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
TREE = CHECKOUT / ".tools" / "types" / "tensortap"


def link_rooms() -> None:
    """Links what is in `tensortap/`, and the folders beside it, to where they are in the package."""
    rooms: dict[str, str] = runpy.run_path(str(CHECKOUT / "setup.py"))["ROOMS"]
    TREE.mkdir(parents=True, exist_ok=True)
    wanted = {package.removeprefix("tensortap."): CHECKOUT / room for package, room in rooms.items()}
    entry = wanted.pop("tensortap")
    wanted |= {path.name: path for path in entry.iterdir() if path.name != "__pycache__"}
    for link in TREE.iterdir():
        link.unlink()
    for name, target in wanted.items():
        (TREE / name).symlink_to(os.path.relpath(target, TREE))


def to_checkout(line: str) -> str:
    """`.tools/types/tensortap/server/app.py:3: …` -> `server/app.py:3: …`."""
    line = re.sub(r"^\.tools/types/tensortap/(server|plugin)/", r"\1/", line)
    return re.sub(r"^\.tools/types/", "", line)


def main() -> int:
    link_rooms()
    others = ["setup.py", "frontend/bundle.py", ".ci/check_types.py"]
    checks = [["-p", "tensortap"], others]
    return max(check(arguments) for arguments in checks)


def check(arguments: list[str]) -> int:
    """Runs mypy, prints its report with the checkout's paths, and returns its exit status."""
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=False)
    print("\n".join(to_checkout(line) for line in done.stdout.splitlines()), flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
