"""A hook of mkdocs: pages that live elsewhere in the checkout, and the API reference, join the site."""

from __future__ import annotations

import re
import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

CHECKOUT = Path(__file__).resolve().parent.parent
ELSEWHERE = {
    "index.md": "README.md",
    "http_api.md": "server/http_api.md",
    "format.md": "FORMAT.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
PAGES = {path: page for page, path in ELSEWHERE.items()}
# What `tensortap.open` returns; with tensortap's own names and those that documents import, the whole API.
READING = [
    *("api.logdir.Log", "api.run.Run", "api.tensor.Tensor", "api.tensors.Tensors", "api.table.Table"),
    "index.graph.graph_index.GraphIndex",
]
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
_IMPORT = re.compile(r"^ *from tensortap\.([\w.]+) import (.+)$", re.MULTILINE)


def on_startup(**_: object) -> None:
    """Links the package as it is installed, which mkdocstrings (begun next) reads the API from."""
    runpy.run_path(str(CHECKOUT / ".ci" / "package_tree.py"))["link_packages"]()


def api_page() -> str:
    """The Python API, as Markdown that mkdocstrings fills."""
    exported = import_module("tensortap").__all__
    documents = [CHECKOUT / "README.md", *(CHECKOUT / "docs").glob("*.md")]
    imports = {
        f"{room}.{name.strip()}"
        for document in documents
        for room, names in _IMPORT.findall(document.read_text(encoding="utf-8"))
        for name in names.split(",")
    }
    return "# Python API\n\n" + "".join(
        f"## {title}\n\n" + "".join(f"::: tensortap.{name}\n\n" for name in sorted(names, key=str.lower))
        for title, names in {
            "tensortap": {*exported} - {"__version__"},
            "What `tensortap.open` returns": READING,
            "From single parts": imports,
        }.items()
    )


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages."""
    for page, path in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(CHECKOUT / path).read_text(encoding="utf-8")))
    files.append(File.generated(config, "api.md", content=api_page()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Links between files of the checkout lead to pages of the site; one that cannot ends the build."""
    source = CHECKOUT / ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        path = target.relative_to(CHECKOUT).as_posix() if target.is_relative_to(CHECKOUT) else ""
        if path in PAGES:
            return f"]({PAGES[path]}{link[2] or ''})"
        if path.startswith("docs/"):
            return f"]({path.removeprefix('docs/')}{link[2] or ''})"
        raise ValueError(f"{source.name} links to {link[1]}, which is no page of the site; see {__file__}.")

    return _LINK.sub(moved, markdown)
