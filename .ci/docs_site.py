"""A hook of mkdocs: pages that live elsewhere in the checkout, and the API reference, join the site."""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

CHECKOUT = Path(__file__).resolve().parent.parent
COPIED_PAGES = {
    "index.md": "README.md",
    "http_api.md": "server/http_api.md",
    "format.md": "FORMAT.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
GALLERY = CHECKOUT / ".tools" / "gallery"  # where `make docs` puts what .ci/gallery.py makes
VIEWER = CHECKOUT / "server" / "static" / "viewer.html"  # once the page is built
PAGES = {path: page for page, path in COPIED_PAGES.items()}
# What `tensortap.open` returns; with tensortap's own names and those that documents import, the whole API.
READING = [
    *("api.logdir.Log", "api.run.Run", "api.tensor.Tensor", "api.tensor.Tensors", "api.table.Table"),
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
    documents = [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
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


def commands_page() -> str:
    """The options of every command, as `--help` prints them."""
    from tensortap.cli.main import COMMANDS, build_parser

    os.environ["COLUMNS"] = "100"
    subparsers = next(
        action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return "# Options of the commands\n\nWhat `tensortap COMMAND --help` prints.\n\n" + "".join(
        f"## tensortap {name}\n\n```text\n{subparsers[name].format_help()}```\n\n" for name in COMMANDS
    )


def rules_page() -> str:
    """The rules with their thresholds and sources, of the registry that applies them."""
    from tensortap.analysis.rules.registry import all_rules

    rows = "".join(
        f"| {rule.name} | {_cell(rule.about)} | {rule.severity} | {_limits(rule.thresholds)} |"
        f" {_cell(rule.source)} |\n"
        for rule in all_rules()
    )
    return (
        "# Rules\n\nEach rule of `tensortap rules`, with its default thresholds and their source."
        " How a rule is applied: [Finding what is wrong](problems.md#rules).\n\n"
        f"| rule | reports | severity | thresholds | source |\n|---|---|---|---|---|\n{rows}"
    )


def gallery_page(folder: Path) -> str:
    """Findings of real runs, with their stories, as .ci/gallery.py has made them."""
    path = folder / "findings.json"
    findings = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    if not findings:
        return "# Gallery\n\nThis site was built without its runs: `make docs` trains them.\n"
    return (
        "# Gallery\n\nReal runs of programs with one mistake each. A story opens in the browser"
        " and needs no server. A run opens with `tensortap serve FILE`, or dropped on a story"
        f" or on the {_viewer_link()}.\n\n"
        + "".join(
            f"## {each['seen']}\n\n{_plain(each['found'])}\n\n"
            f"Found by `{each['by']}`{_at(each['line'])}."
            f' <a href="gallery/{each["name"]}.html">Open the story</a> ·'
            f' <a href="gallery/{each["name"]}.tap.zip">download the run</a>\n\n'
            for each in findings
        )
    )


def _viewer_link() -> str:
    return '<a href="viewer.html">static viewer</a>' if VIEWER.is_file() else "static viewer"


def _at(line: str) -> str:
    return f", at `{line}`" if line else ""


def _plain(text: str) -> str:
    """A sentence in which nothing is Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)


def _limits(thresholds: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {value:g}" for name, value in thresholds.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages."""
    for page, path in COPIED_PAGES.items():
        files.append(File.generated(config, page, content=(CHECKOUT / path).read_text(encoding="utf-8")))
    for page, content in {
        "api.md": api_page(),
        "command_options.md": commands_page(),
        "rules.md": rules_page(),
        "gallery.md": gallery_page(GALLERY),
    }.items():
        files.append(File.generated(config, page, content=content))
    for story in sorted([*GALLERY.glob("*.html"), *GALLERY.glob("*.tap.zip")]):
        files.append(File.generated(config, f"gallery/{story.name}", abs_src_path=str(story)))
    if VIEWER.is_file():
        files.append(File.generated(config, "viewer.html", abs_src_path=str(VIEWER)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Links between files of the checkout lead to pages of the site; one that cannot ends the build."""
    source = CHECKOUT / COPIED_PAGES.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        path = target.relative_to(CHECKOUT).as_posix() if target.is_relative_to(CHECKOUT) else ""
        page_there = PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else "")
        if page_there:
            here = Path(page.file.src_uri).parent
            return f"]({os.path.relpath(page_there, here)}{link[2] or ''})"
        raise ValueError(f"{source.name} links to {link[1]}, which is no page of the site; see {__file__}.")

    return _LINK.sub(moved, markdown)
