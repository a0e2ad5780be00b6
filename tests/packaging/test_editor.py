"""An editor finds what is imported: pyright with its default settings, where nothing is installed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
MAPPED = ("tensortap.server", "tensortap.plugin")  # setup.py gives these names to folders beside tensortap/


def imported_modules() -> set[str]:
    """All modules of tensortap that any of its files imports by an absolute name."""
    return {
        node.module
        for folder in ("tensortap", "server", "plugin")
        for file in (CHECKOUT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and not node.level and node.module
        if node.module.startswith("tensortap")
    }


@pytest.mark.slow
def test_an_editor_resolves_every_import_of_the_package(tmp_path: Path) -> None:
    sys.path.insert(0, str(CHECKOUT / "frontend"))
    try:
        import bundle
    finally:
        sys.path.pop(0)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    node = bundle.machines_node() or bundle.packaged_node()
    assert node is not None
    imports = tmp_path / "imports.py"
    imports.write_text("".join(f"import {name}\n" for name in sorted(imported_modules())))
    done = subprocess.run(
        [
            *(str(node.folder / "node"), "frontend/node_modules/pyright/index.js", "--outputjson"),
            *("--pythonpath", str(tmp_path / "bare" / "bin" / "python"), str(imports)),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == 1
    unresolved = [
        each["message"]
        for each in report["generalDiagnostics"]
        if each.get("rule") == "reportMissingImports"
        and each["message"].startswith('Import "tensortap')
        and not each["message"].startswith(tuple(f'Import "{package}' for package in MAPPED))
    ]
    assert unresolved == []
