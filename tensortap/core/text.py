"""Text for people: escaping for terminals and pages, natural order, suggestions, plurals."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

# Letters, marks and symbols that draw nothing, though Python takes them for printable: fillers, the blank of
# Braille, variation selectors.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# What spreadsheets evaluate text for that begins so, also in the full width of East Asian keyboards.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # all but those of lines and tabs
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_STYLES = "\ufe0e\ufe0f"  # as text, as an emoji
_KEYCAP = "\u20e3"
_VIRAMA = 9  # Unicode's combining class
_DIGITS = re.compile(r"0*([0-9]+)")
_UNITS = ("B", "KB", "MB", "GB", "TB")
_MAX_COMPARED = 5_000  # difflib needs some 20 us a name


def escaped(text: str) -> str:
    """Text from a dump. Characters that a terminal or page would obey (control characters, direction marks)
    or not show (zero width, fillers) become `\\xNN`. Joiners and variation selectors stay if they affect the
    display: in emoji, and in Persian and Indic scripts (RFC 5892, A.1 and A.2).
    """
    if text.isprintable() and (text.isascii() or _BLANK.search(text) is None):
        return text
    return "".join(
        character if _is_seen(character) or _changes_others(text, place) else _code(character)
        for place, character in enumerate(text)
    )


def csv_text(text: str) -> str:
    """Text for a CSV file: with a leading apostrophe if a spreadsheet would run it as a formula, and with
    control characters as `\\xNN`, except tabs and line ends."""
    text = _CONTROLS.sub(lambda found: _code(found.group()), text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _is_seen(character: str) -> bool:
    return character.isprintable() and (character.isascii() or _BLANK.match(character) is None)


def _changes_others(text: str, place: int) -> bool:
    """Whether an invisible character changes the shape of its neighbours."""
    character, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if not before or not (after or character in _STYLES):
        return False
    if character in _STYLES:
        return after == _KEYCAP or _is_symbol(before)
    if character == _JOINER and _is_symbol(after) and (_is_symbol(before) or before in _STYLES):
        return True
    if character in (_JOINER, _NON_JOINER) and unicodedata.combining(before) == _VIRAMA:
        return unicodedata.category(after).startswith("L")
    return character == _NON_JOINER and _is_arabic(before) and _is_arabic(after)


def _is_arabic(character: str) -> bool:
    return unicodedata.bidirectional(character) == "AL"


def _is_symbol(character: str) -> bool:
    """Whether it may be part of an emoji."""
    drawn = not character.isascii() and _is_seen(character)
    return drawn and unicodedata.category(character) in ("So", "Sk", "Sm", "Po")


def _code(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")


def counted(count: int, noun: str) -> str:
    """`1 worker`, `2,000 workers`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def number_text(number: float, digits: int = 3) -> str:
    """`0.0123`, `65504`, `1.2e-07`, `nan`: significant digits; whole numbers below a million in full."""
    if not math.isfinite(number):
        return str(number)
    if number == round(number) and abs(number) < 1e6:
        return f"{number:.0f}"
    return f"{float(f'{number:.{digits}g}'):.{max(6, digits)}g}"


def number_beside(number: float, limit: float) -> str:
    """A number with at least three digits, and enough to differ from a limit and from the limit's text."""
    written = (limit, float(number_text(limit)))
    texts = (number_text(number, digits) for digits in range(3, 18))
    return next((text for text in texts if float(text) not in written), number_text(number))


def shortened(text: str, length: int) -> str:
    """A text of at most `length` characters; the last one of a longer text is an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def bytes_text(count: int) -> str:
    """`1536` -> `1.5 KB`: units of 1,000 bytes, as disks are sold and `ls --si` prints."""
    size = float(count)
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} {_UNITS[-1]}"


def natural_key(text: str) -> tuple[str, str]:
    """Sort key for texts with numbers: each number is prefixed by a character that increases with its number
    of digits (without leading zeros). The text itself comes last, because `a_1` and `a_01` differ."""
    return _DIGITS.sub(_signed, text), text


def _signed(number: re.Match[str]) -> str:
    return chr(ord("0") + len(number[1])) + number[1]


def natural_ranks(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """The rank of each text in the order of all, int64 [count]; equal texts have equal ranks."""
    places = {text: place for place, text in enumerate(sorted(set(texts), key=natural_key))}
    return np.array([places[text] for text in texts], np.int64)


def with_facts(name: str, *facts: str) -> str:
    """`relu:0 (Relu, iteration 2)`; facts may be empty, such as the op type of a node without a graph."""
    given = ", ".join(filter(None, facts))
    return f"{name} ({given})" if given else name


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """`"Did you mean 'a', 'b' or 'c'?"` if some known names are alike, else the other hint."""
    tail = name.rsplit("/", 1)[-1].partition(":")[0]
    candidates = [candidate for candidate in known if tail and tail in candidate] if tail else []
    close = difflib.get_close_matches(name, islice(candidates or known, _MAX_COMPARED), n=3, cutoff=0.5)
    if not close and not candidates:
        return otherwise
    quoted = [repr(candidate) for candidate in (close or candidates[:3])]
    return f"Did you mean {' or '.join(filter(None, (', '.join(quoted[:-1]), quoted[-1])))}?"
