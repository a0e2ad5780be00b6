"""Makes docs/tutorial.ipynb of docs/tutorial.md: a cell a code block, prose between them.

python .ci/tutorial_notebook.py            # writes it; tests/test_tutorial.py compares and runs it
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```\n|^\n((?:    \S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def notebook(text: str) -> dict[str, Any]:
    """The notebook of a document, as JSON: programs are written to files, commands run with `!`."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        if source.strip():
            rest = {"execution_count": None, "outputs": []} if kind == "code" else {}
            cells.append(
                {
                    "cell_type": kind,
                    "id": f"cell-{len(cells)}",
                    "metadata": {},
                    "source": source.strip(),
                    **rest,
                }
            )

    place = 0
    for block in BLOCK.finditer(text):
        language, code, shell = block.groups()
        if language == "text":
            continue
        add("markdown", text[place : block.start()])
        place = block.end()
        if shell and shell.strip().startswith("tensortap serve"):
            add("markdown", f"```\n{shell.strip()}\n```")
        elif shell:
            add("code", "\n".join(f"!{line.strip()}" for line in shell.strip().splitlines()))
        elif code.startswith("# train.py"):
            add("code", f"%%writefile train.py\n{code}")
        else:
            add("code", code)
    add("markdown", text[place:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def rendered() -> str:
    """The notebook's file."""
    found = notebook((DOCS / "tutorial.md").read_text(encoding="utf-8"))
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    (DOCS / "tutorial.ipynb").write_text(rendered(), encoding="utf-8")
