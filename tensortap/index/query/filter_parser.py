"""Reads conditions on snapshots (`nan > 0 and op == 'MatMul'`): a grammar, never evaluated as code.

condition  = both { "or" both } ;          both = one { "and" one } ;
one        = "not" one | comparison | "(" condition ")" ;
comparison = sum ("<" | "<=" | ">" | ">=" | "==" | "=" | "!=") sum
           | count
           | text_field ("==" | "=" | "!=" | "~" | "!~") quoted ;
sum        = product { ("+" | "-") product } ;      product = factor { ("*" | "/") factor } ;
factor     = number [ unit ] | statistic | "-" factor | "(" sum ")" ;

Names may be in any case. A count alone means that there are some (`NaN`); compared with percent it is a share
of the elements (`zeros > 90%`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from tensortap.core.errors import SelectionError
from tensortap.core.records import COUNTS, STATISTICS
from tensortap.core.text import escaped

from .filter_expressions import (
    COMPARISONS,
    Arithmetic,
    Both,
    Either,
    Field,
    Not,
    Number,
    NumberComparison,
    Numeric,
    RowCondition,
    TextComparison,
    match_names,
)

MAX_TEXT = 500
MAX_DEPTH = 20
COUNT_FIELDS = (*COUNTS, "inf", "nonfinite")
FIELDS = ("step", "visit", "size", *COUNTS, *STATISTICS, "inf", "nonfinite")
# Other names of them; a share is a count by the number of elements.
ALIASES = {
    "zeros": "zero",
    "negatives": "negative",
    "positives": "positive",
    "subnormals": "subnormal",
    "elements": "size",
    "iteration": "visit",
    "absmax": "abs_max",
    "norm": "l2",
    "l2_norm": "l2",
}
SHARES = {"sparsity": "zero", "zero_share": "zero", "nan_share": "nan", "inf_share": "inf"}
UNITS = {"%": 0.01, "k": 1e3, "m": 1e6, "g": 1e9}
TEXT_FIELDS = ("tensor", "node", "op", "op_type", "layer", "dtype", "device", "worker", "graph")

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"[^"]*")|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*%"""
    r"|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+|[kKmMgG])?(?![\w.]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign><=|>=|==|!=|!~|[<>=~()+\-*/]))"
)
T = TypeVar("T")
_NAMED_NUMBERS = {"inf": float("inf"), "infinity": float("inf"), "nan": float("nan")}
_HINT = "Examples: 'NaN', 'abs_max >= 1e4 and step < 100' or \"zeros > 90% and op == 'Relu'\"."


class _Token(NamedTuple):
    kind: str  # text, number, word, sign; end after the last one
    text: str


def parse_predicate(text: str) -> RowCondition:
    """Reads a condition. `not` binds tightest, then `and`, then `or`; parentheses group.

    After a comparison, `inf` and `nan` are the numbers (`max == inf`); everywhere else they are the counts.

    Raises:
        SelectionError: it cannot be parsed, or names an unknown statistic.
    """
    if len(text) > MAX_TEXT:
        raise SelectionError(f"The condition is longer than {MAX_TEXT} characters.", _HINT)
    return _Parser(text).parse()


def _tokens(text: str) -> list[_Token]:
    tokens, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise SelectionError(f"Unexpected '{escaped(text[at:].strip()[:20])}' in the condition.", _HINT)
        kind = match.lastgroup or ""
        found = match[kind].lower() if kind == "word" else match[kind]
        tokens.append(_Token(kind, found))
        at = match.end()
    return tokens


class _Parser:
    """Recursive descent over the tokens, one method a line of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> RowCondition:
        condition = self._condition()
        if self._next.kind != "end":
            self._refuse()
        return condition

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("end", "")

    def _take(self, *texts: str) -> str:
        """The next token if it is a word or sign among `texts`, else an empty string."""
        token = self._next
        if token.kind in ("word", "sign") and token.text in texts:
            self._at += 1
            return token.text
        return ""

    def _refuse(self) -> NoReturn:
        text = self._next.text
        if text:
            raise SelectionError(
                f"Unexpected '{escaped(text[:40])}'. Join conditions with 'and' or 'or'.", _HINT
            )
        raise SelectionError("Incomplete: something is missing at the end.", _HINT)

    def _condition(self) -> RowCondition:
        left = self._both()
        while self._take("or"):
            left = Either(left, self._both())
        return left

    def _both(self) -> RowCondition:
        left = self._one()
        while self._take("and"):
            left = Both(left, self._one())
        return left

    def _one(self) -> RowCondition:
        if self._take("not"):
            return Not(self._deeper(self._one))
        if self._next.kind == "word" and self._next.text in TEXT_FIELDS:
            return self._text_comparison()
        if self._next == ("sign", "(") and self._groups_a_condition():
            return self._grouped(self._condition)
        left = self._sum()
        comparison = self._take(*COMPARISONS)
        if not comparison:
            if _is_count(left) and (self._next.kind == "end" or self._next.text in ("and", "or", ")")):
                return NumberComparison(">", left, Number(0.0))
            if self._next.kind in ("end", "sign"):
                raise SelectionError("Incomplete: add a comparison, e.g. nan > 0.", _HINT)
            self._refuse()
        right = self._named_number() or self._sum()
        _refuse_fraction(left, right)
        _refuse_fraction(right, left)
        return NumberComparison(comparison, _as_share(left, right), _as_share(right, left))

    def _groups_a_condition(self) -> bool:
        """Whether the parenthesis that opens here contains a comparison, or arithmetic."""
        depth = 0
        for kind, text in self._tokens[self._at :]:
            if kind == "sign":
                depth += (text == "(") - (text == ")")
                if text in COMPARISONS or "~" in text:
                    return True
            elif kind == "word" and text in ("and", "or", "not"):
                return True
            if depth == 0:
                break
        return False

    def _text_comparison(self) -> RowCondition:
        field = self._take(*TEXT_FIELDS)
        comparison = self._take("==", "=", "!=", "~", "!~")
        if not comparison:
            raise SelectionError(f"Put text in quotes: {field} == 'Relu'.", _HINT)
        token = self._next
        if token.kind != "text":
            raise SelectionError(f"Put text in quotes: {field} == 'Relu'.", _HINT)
        self._at += 1
        if "~" in comparison:
            match_names(token.text[1:-1], ("",))  # refuses a bad pattern now, not with the first row
        return TextComparison(field, comparison, token.text[1:-1])

    def _named_number(self) -> Numeric | None:
        """`inf` or `nan` on the right of a comparison; they are not valid where a count is expected."""
        start = self._at
        sign = -1 if self._take("-") else 1
        word = self._take(*_NAMED_NUMBERS)
        if not word:
            self._at = start
            return None
        return Number(sign * _NAMED_NUMBERS[word])

    def _sum(self) -> Numeric:
        left = self._product()
        while operation := self._take("+", "-"):
            left = Arithmetic(operation, left, self._product())
        return left

    def _product(self) -> Numeric:
        left = self._factor()
        while operation := self._take("*", "/"):
            left = Arithmetic(operation, left, self._factor())
        return left

    def _factor(self) -> Numeric:
        token = self._next
        if self._take("-"):
            return Arithmetic("*", Number(-1.0), self._deeper(self._factor))
        if token == ("sign", "("):
            return self._grouped(self._sum)
        if token.kind == "number":
            self._at += 1
            return _number(token.text)
        if token.kind == "word" and token.text not in ("and", "or", "not"):
            return self._field()
        self._refuse()

    def _field(self) -> Numeric:
        name = self._next.text
        self._at += 1
        if name in SHARES:
            return Arithmetic("/", Field(SHARES[name]), Field("size"))
        name = ALIASES.get(name, name)
        if name in FIELDS:
            return Field(name)
        known = (*FIELDS, *ALIASES, *SHARES)
        near = difflib.get_close_matches(name, known, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise SelectionError(f"Unknown field '{name[:40]}'.{meant}", f"Use one of {', '.join(known)}.")

    def _grouped(self, inner: Callable[[], T]) -> T:
        self._take("(")
        found = self._deeper(inner)
        if not self._take(")"):
            self._refuse()
        return found

    def _deeper(self, inner: Callable[[], T]) -> T:
        """`inner()`, one level down; nesting is bounded, so that no condition exhausts the stack."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SelectionError(f"The condition is nested deeper than {MAX_DEPTH} levels.", _HINT)
        found = inner()
        self._depth -= 1
        return found


class Percent(Number):
    """A number that was written with a percent sign."""


def _number(text: str) -> Number:
    unit = UNITS.get(text[-1].lower())
    if unit is None:
        return Number(float(text))
    kind = Percent if text.endswith("%") else Number
    return kind(float(text[:-1]) * unit)


def _is_count(number: Numeric) -> bool:
    return isinstance(number, Field) and number.name in COUNT_FIELDS


def _as_share(number: Numeric, other: Numeric) -> Numeric:
    """A count that is compared with percent, as a share of the elements."""
    return (
        Arithmetic("/", number, Field("size")) if _is_count(number) and isinstance(other, Percent) else number
    )


def _refuse_fraction(number: Numeric, other: Numeric) -> None:
    """A count compared with a fraction: `zero > 0.9` would be true from one zero on."""
    fraction = isinstance(other, Number) and not isinstance(other, Percent) and 0 < other.value < 1
    if fraction and isinstance(number, Field) and _is_count(number) and isinstance(other, Number):
        share = f"{number.name} > {other.value * 100:g}%"
        raise SelectionError(
            f"'{number.name}' counts elements, and {other.value:g} is a fraction. For a share, "
            f"write {share}.",
            _HINT,
        )
