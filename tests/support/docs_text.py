"""The prose of the documents: its sentences, how long they are, and how easy to read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from documents import ALL_DOCUMENTS
from markdown_it import MarkdownIt
from markdown_it.token import Token

_END = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[\"*_(]*[A-Z0-9`|→])")
_ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|vs|cf|etc|al)\.")


@dataclass(frozen=True)
class Sentence:
    """One of a document, with the line that its paragraph begins at (from 1)."""

    document: str
    line: int
    text: str

    @property
    def words(self) -> list[str]:
        """Names in code count as one word each."""
        return re.findall(r"[A-Za-z0-9][\w'’/.,:-]*", self.text)


def sentences(document: str) -> list[Sentence]:
    """Those of paragraphs and list items; not of headings, tables, code and pictures."""
    return [
        Sentence(document, line, sentence)
        for line, text in paragraphs(document)
        for sentence in _END.split(_ABBREVIATIONS.sub(r"\1", text))
        if re.search("[a-z]", sentence)
    ]


def paragraphs(document: str, *, tables: bool = False) -> Iterator[tuple[int, str]]:
    """(line, text) of paragraphs and list items, without markup; inline code is `Code`. `tables`: also of
    the cells of tables."""
    apart = ("heading",) if tables else ("heading", "table")
    parsed = MarkdownIt().enable("table").parse(ALL_DOCUMENTS[document].read_text(encoding="utf-8"))
    skipped = 0
    for token in parsed:
        if token.type.removesuffix("_open") in apart:
            skipped += 1
        elif token.type.removesuffix("_close") in apart:
            skipped -= 1
        elif token.type == "inline" and not skipped and token.map is not None:
            yield token.map[0] + 1, _plain(token.children or []).strip()


def _plain(tokens: list[Token]) -> str:
    parts = {"text": lambda token: token.content, "softbreak": lambda _: " ", "code_inline": lambda _: "Code"}
    return "".join(parts[token.type](token) for token in tokens if token.type in parts)


def words_of(document: str) -> int:
    """Words of its prose and tables; code blocks are none."""
    text = re.sub(
        r"^ *```.*?^ *```", "", ALL_DOCUMENTS[document].read_text(encoding="utf-8"), flags=re.M | re.S
    )
    text = "\n".join(line for line in text.splitlines() if not re.match(r"    \S", line))
    return len(re.findall(r"\w[\w'’.:/=-]*", text))


def grade(found: list[Sentence]) -> float:
    """Flesch-Kincaid grade level: 0.39 words/sentences + 11.8 syllables/words - 15.59 (Kincaid et al. 1975).

    Inline code counts as a word of one syllable: its reader does not spell it.
    """
    words = [word for sentence in found for word in sentence.words]
    return 0.39 * len(words) / len(found) + 11.8 * sum(map(syllables, words)) / len(words) - 15.59


def syllables(word: str) -> int:
    """Groups of vowels, less a silent e at the end; at least one. A good guess for English."""
    letters = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", letters))
    silent = letters.endswith("e") and not letters.endswith(("le", "ee")) and groups > 1
    silent_ed = letters.endswith("ed") and not letters.endswith(("ted", "ded", "eed")) and groups > 1
    return max(1, groups - silent - silent_ed)


if __name__ == "__main__":
    print("document                            sentences  mean  longest  grade  words")
    for name in ALL_DOCUMENTS:
        if listed := sentences(name):
            lengths = [len(sentence.words) for sentence in listed]
            mean = sum(lengths) / len(lengths)
            print(
                f"{name:35} {len(listed):9}  {mean:4.1f}  {max(lengths):7}",
                f"{grade(listed):6.1f}  {words_of(name):5}",
            )
