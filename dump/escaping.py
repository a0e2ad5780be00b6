"""Texts for people: those of a dump, shown where control characters and direction marks would be obeyed; and
counts."""

from __future__ import annotations


def escaped(text: str) -> str:
    """Text from a dump; what a terminal or a page would obey (control characters, direction marks) or would
    not show (zero width) as `\\xNN`."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _code(character) for character in text)


def _code(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def counted(count: int, noun: str) -> str:
    """`1 worker`, `2,000 workers`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
