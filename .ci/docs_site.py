"""A hook of mkdocs: pages that live elsewhere in the checkout, and the API reference, join the site."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

CHECKOUT = Path(__file__).resolve().parent.parent
ELSEWHERE = {"index.md": "README.md", "http_api.md": "server/http_api.md", "format.md": "FORMAT.md"}
PAGES = {path: page for page, path in ELSEWHERE.items()}
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: Any) -> Any:
    """Links the rooms as the package that they become, which the API reference is read from."""
    runpy.run_path(str(CHECKOUT / ".ci" / "check_types.py"))["link_rooms"]()
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages."""
    for page, path in ELSEWHERE.items():
        files.append(File.generated(config, page, content=(CHECKOUT / path).read_text(encoding="utf-8")))
    names = re.findall(
        r"^    \"([A-Za-z]\w*)\",$", (CHECKOUT / "entry" / "__init__.py").read_text(encoding="utf-8"), re.M
    )
    reference = "".join(f"::: tensortap.{name}\n\n" for name in sorted(names))
    files.append(File.generated(config, "api.md", content=f"# Python API\n\n{reference}"))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Links between files of the checkout lead to pages of the site; others to nowhere, as text."""
    source = CHECKOUT / ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        path = target.relative_to(CHECKOUT).as_posix() if target.is_relative_to(CHECKOUT) else ""
        if path in PAGES:
            return f"]({PAGES[path]}{link[2] or ''})"
        if path.startswith("docs/"):
            return f"]({path.removeprefix('docs/')}{link[2] or ''})"
        return f"](https://pypi.org/project/tensortap/ '{path}')"

    return _LINK.sub(moved, markdown)
