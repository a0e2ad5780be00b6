"""The grammar of expressions that change a tensor, checked without TensorFlow."""

from __future__ import annotations

import ast
import math

from tensortap.core.errors import SelectionError

MAX_TEXT = 500
MAX_PARTS = 1000
HINT = "Examples: 'clip(x, -1, 1)', 'where(isnan(x), 0, x)', 'x * 0.5', 'put(x, (0, 3), 1.5)'."
CONSTANTS = {"nan": math.nan, "inf": math.inf, "pi": math.pi, "e": math.e}
FUNCTION_NAMES = frozenset(
    {
        *("abs", "cast", "ceil", "clip", "exp", "floor", "full_like", "isfinite", "isinf", "isnan", "log"),
        *("max", "maximum", "mean", "min", "minimum", "nan_to_num", "ones_like", "put", "round", "sign"),
        *("sqrt", "std", "sum", "tanh", "where", "zeros_like"),
    }
)
STEP = "step"
"""The function that gives the same tensor's value at another step: `step(100)`, `step(100, 'other run')`."""

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_PLAIN = (ast.BinOp, ast.UnaryOp, ast.USub, ast.Tuple, ast.Load, *_OPERATORS, *_COMPARISONS)


def check_changes(text: str) -> None:
    """Whether `expression.parse_changes` takes a text.

    Raises:
        SelectionError: it does not.
    """
    for part in parts_of(text):
        parsed(part)


def parts_of(text: str) -> list[str]:
    """The expressions between `;`.

    Raises:
        SelectionError: there are none, or more than `MAX_PARTS`.
    """
    parts = [part for part in text.split(";") if part.strip()]
    if not parts or len(parts) > MAX_PARTS:
        raise SelectionError(f"There are {len(parts)} expressions; the limit is {MAX_PARTS}.", HINT)
    return parts


def parsed(text: str) -> ast.expr:
    """The tree of one expression, if it only has allowed parts.

    Raises:
        SelectionError: it cannot be parsed, or uses a name that is unknown.
    """
    if len(text) > MAX_TEXT:
        raise SelectionError(f"The expression is longer than {MAX_TEXT} characters.", HINT)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SelectionError(f"{text[:80]!r} is not an expression: {error}.", HINT) from error
    _check(tree, text)
    return tree


def _check(tree: ast.AST, text: str) -> None:
    nodes = list(ast.walk(tree))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if not _is_known(node, id(node) in called):
            shown = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
            raise SelectionError(f"{shown[:80]!r} is not allowed in {text[:80]!r}.", HINT)


def _is_known(node: ast.AST, called: bool) -> bool:
    if isinstance(node, ast.Name):
        return node.id in {*FUNCTION_NAMES, STEP} if called else node.id == "x" or node.id in CONSTANTS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and not node.keywords
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float | str) and abs(_size(node.value)) < 1e300
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1
    return isinstance(node, _PLAIN)


def _size(value: float | str) -> float:
    """The size of a number. Integers are not converted to floats, which fails from 309 digits on."""
    return len(value) if isinstance(value, str) else value
