"""The code blocks of README.md and docs/, for the tests that run them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
DOCUMENTS = {"README.md": CHECKOUT / "README.md"} | {
    path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))
}
# Documents that live elsewhere; docs/ links to them.
OUTSIDE = {
    name: CHECKOUT / name
    for name in (
        *("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "FORMAT.md", "server/http_api.md"),
        *(f"frontend/src/{folder}README.md" for folder in ("", "layout/", "render/")),
    )
}
ALL_DOCUMENTS = DOCUMENTS | OUTSIDE


@dataclass(frozen=True)
class Block:
    """A block of code: the line it begins at (from 1), its language (None of an indented one), its text."""

    document: str
    line: int
    language: str | None
    text: str


def blocks(document: str) -> list[Block]:
    """Those of a document, `README.md` or a path in docs/."""
    parsed = MarkdownIt().parse(ALL_DOCUMENTS[document].read_text(encoding="utf-8"))
    return [
        Block(document, token.map[0] + 1, token.info if token.type == "fence" else None, token.content)
        for token in parsed
        if token.type in ("fence", "code_block") and token.map is not None
    ]


def python_of(document: str) -> list[str]:
    """Its Python."""
    return [block.text for block in blocks(document) if block.language == "python"]
