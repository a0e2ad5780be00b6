"""What documents show of the command line, to be compared with what it prints."""

from __future__ import annotations

import re

from documents import blocks


def samples(document: str) -> dict[str, str]:
    """The shown output of each `$ tensortap COMMAND` of a document, by COMMAND."""
    begin = "$ tensortap "
    texts = [block.text for block in blocks(document) if block.text.startswith(begin)]
    return {text.partition("\n")[0].removeprefix(begin): text.partition("\n")[2] for text in texts}


def missing_lines(shown: str, printed: str) -> list[str]:
    """Lines that are shown, but not printed. Numbers, blanks and the folders of Python files are not
    compared: machines round differently, and programs are elsewhere. Lines of `…` stand for others."""
    found = _comparable(printed)
    return [line for line in shown.splitlines() if line.strip(" …") and _comparable(line) not in found]


def _comparable(text: str) -> str:
    text = re.sub(r"\S*/(\w+\.py:)", r"\1", " ".join(text.split()))
    return re.sub(r"[-+]?\d[\d,.]*(e[-+]?\d+)?", "#", text)
