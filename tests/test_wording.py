"""Plain English wherever a user reads: no coined words, one name for one thing.

Checked: the documents with their tables, the strings and comments of the page and its styles, the help of
every command, all strings, docstrings and comments of the Python code, and the HTML templates.
`INSTEAD` has the refused words, each with the field's term.
"""

from __future__ import annotations

import argparse
import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_text import paragraphs
from documents import ALL_DOCUMENTS, CHECKOUT

from tensortap.cli.main import COMMANDS, build_parser

_UNITS = (
    "one|rows?|objects?|bytes|bits?|modules?|once|times|entry|entries|columns?|files?|lines?"
    "|folder|kB|MB|GB|ms|us"
)
_PER = (
    "line|snapshot|step|row|tensor|node|batch|process|dimension|tile|minute|second|worker|package|core|cell|run|item"
    "|element|visit|call|page|million|rule|scope|commit"
)
# Pattern -> what to write instead. Matched in any case, at the beginning and end of words.
INSTEAD = {
    r"(?<!there )(?<!which )is no (?!longer|more)\w+": "is not a …",
    r"says no \w+": "does not say …",
    r"(?:is|was|were|are) born|births?": "origin",
    r"handed (?:it )?on|hands? (?:it )?on|passed (?:it )?on": "propagated",
    r"harmless": "expected",
    r"led back": "backtrace, followed back",
    r"spoil(?:t|s|ed)?": "broke, damaged",
    r"is told|are told|was told|were told|you are told": "reported",
    r"on show": "current, this view",
    r"tak(?:e|es|en|ing) (?:it )?(?:apart|away)|put(?:s)? (?:it )?away": "ungroup, remove, dismiss",
    r"look(?:ed|s|ing)? into": "checked, analysing",
    r"way out": "fix",
    r"no longer, or not|or no longer": "toggle",
    r"led? on": "next step",
    r"nobody": "name the subject",
    r"healed?|heals": "return finite values",
    r"mend(?:s|ed|ing)?": "fix",
    r"likest": "most similar",
    r"worth a look": "check",
    r"what it is of": "name the subject",
    r"stands? (?:in|at|on) (?:its|the) place": "is",
    r"trace (?:inputs|outputs)": "upstream, downstream",
    r"doubts?": "mismatches",
    r"without (?:it|them) nothing": "needs",
    r"too few words": "be specific",
    r"what (?:comes|stands|lies) behind": "downstream of",
    r"(?<!there )is no (?!longer|such|other|more|less)\w+": "is not a",
    r"says? no(?:thing)?": "report none, or say what is missing",
    r"came with the data|handed over": "name the input; stored",
    r"go(?:es|ing)? on|went on": "continues",
    r"anew|again and again": "again, repeatedly",
    r"likewise": "also",
    r"untouched": "unchanged",
    r"so many|the ones? (?:that|which)": "be specific",
    r"not known(?! to)": "unknown",
    r"(?:inside|outside) of": "inside, outside",
    r"by hand": "manually",
    r"an? [\w-]+ of (?:its|their|your|our) own": "a separate …, your own …",
    r"(?:is|are|was|were) to be \w+ed": "must be …",
    r"what (?:it|they) (?:is|are|was|were|ha[sd]|does|did|needs?|gives?|takes?|holds?|asks?)": "be specific",
    r"(?:leaves?|leaving) (?:it |them |\w+ )?out|left out": "skip, omit",
    r"ask(?:s|ed)? for(?! the origin)": "requests",
    r"hands? (?:it|them|its)": "passes",
    r"(?:lies?|lying) (?:in|at|outside|inside|below|above|within|behind|elsewhere)": "is",
    r"can(?:not)? be told|be told apart": "distinguish",
    r"is none of|(?<!there )is nothing(?! to)": "is not …",
    rf"(?:{_UNITS}) an? (?:{_PER})": "one … per …",
    r"quiet (?:machine|cores?|cpus?)": "idle",
    r"(?:is|are|was) of version": "has version",
    r"(?<!the )(?:with|has) most \w+s": "the most",
    r"(?:need|needs|no) further \w+": "additional, other",
    r"some (?:thousand|hundred|million)s?": "a few thousand, about a thousand",
    r"difference to": "difference from",
    r"search(?:es|ed)? (?:the smallest|the largest)": "search for",
    r"(?:exists?|there) already": "already exists",
    r"(?:^|: )(?:muted|captured|supported|covered) are": "put the subject first",
}
# One name for one thing, on the page and in the docs.
ONE_NAME = {
    r"share of zeros": "% zeros",
    r"abs(?:olute)? max(?:imum)?": "max |x|",
    r"largest magnitude first": "Largest first",
    r"open all scopes|close all scopes": "expand all, collapse all",
    r"keyboard help": "Keyboard shortcuts",
    r"zeros %": "% zeros",
    r"up to rounding": "within rounding",
    r"cut off": "truncated",
    r"one of each stretch|evenly chosen": "one per interval, evenly spaced",
    r"column heads?": "column header",
    r"gray": "grey",
    r"(?:un)?(?:normal|optim|recogn|minim|maxim|quant|summar|initial)is(?:e[sd]?|ers?|ing|ation)": "-ize",
}
REFUSED = {
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE): word for pattern, word in (INSTEAD | ONE_NAME).items()
}
PYTHON = [
    path
    for folder in ("tensortap", "server", "plugin", "benchmarks")
    for path in sorted((CHECKOUT / folder).rglob("*.py"))
]


def wrong(text: str) -> list[str]:
    return [
        f"{found[0]!r}: write {word}" for pattern, word in REFUSED.items() for found in pattern.finditer(text)
    ]


@pytest.mark.parametrize("name", ALL_DOCUMENTS)
def test_documents(name: str) -> None:
    found = [f"{name}:{line}: {bad}" for line, text in paragraphs(name, tables=True) for bad in wrong(text)]
    assert found == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_commands(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    choices = next(a.choices for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert wrong(choices[command].format_help()) == []


def test_strings_of_the_page() -> None:
    """Of views, model and state: texts with a space, or in JSX; not names of tests, classes and keys."""
    found = []
    for folder in ("views", "model", "state", "render"):
        for path in sorted((CHECKOUT / "frontend" / "src" / folder).rglob("*.ts*")):
            if ".test." not in path.name:
                for line, text in page_strings(path):
                    found += [f"{path.name}:{line}: {bad}" for bad in wrong(text)]
    assert found == []


def test_comments_of_the_page() -> None:
    found = []
    for path in sorted((CHECKOUT / "frontend" / "src").rglob("*.ts*")):
        for line, code in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            comment = re.match(r"\s*(?:/\*\*?|\*|//)\s?(.*)", code) or re.search(r"\s// (.*)$", code)
            if comment and "biome-ignore" not in code:
                found += [f"{path.name}:{line}: {bad}" for bad in wrong(comment[1])]
    for path in sorted((CHECKOUT / "frontend" / "src").rglob("*.css")):
        for comment in re.findall(r"/\*(.*?)\*/", path.read_text(encoding="utf-8"), re.DOTALL):
            found += [f"{path.name}: {bad}" for bad in wrong(" ".join(comment.split()))]
    assert found == []


def page_strings(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of what a file of the page may show."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    for line, code in enumerate(text.splitlines(), 1):
        code = re.sub(r"(?:^|\s)//.*", "", code)
        if code.startswith("import "):
            continue
        for string in re.findall(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`((?:[^`\\]|\\.)*)`", code):
            shown = "".join(string)
            if " " in shown:
                yield line, re.sub(r"\$\{[^}]*\}", "…", shown)
        bare = re.fullmatch(r"\s*([A-Z][^<>{}=;]*[a-z.…:])\s*", code)  # JSX: a line of text between tags
        if bare and path.suffix == ".tsx":
            yield line, bare[1]
        for inner in re.findall(r">([^<>{}=;]*[a-z][^<>{}=;]*)<", code):
            yield line, inner


def test_sentences_of_errors_and_warnings() -> None:
    found = [
        f"{path.relative_to(CHECKOUT)}:{line}: {bad}"
        for path in PYTHON
        for line, text in python_sentences(path)
        for bad in wrong(text)
    ]
    assert found == []


def test_html_templates() -> None:
    found = []
    for path in sorted((CHECKOUT / "tensortap" / "html" / "templates").glob("*.j2")):
        text = re.sub(r"<(style|script)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"{#.*?#}|{%.*?%}", " ", text, flags=re.DOTALL)
        text = re.sub(r"{{.*?}}", "…", text, flags=re.DOTALL)
        found += [f"{path.name}: {bad}" for bad in wrong(" ".join(re.sub(r"<[^>]*>", " ", text).split()))]
    assert found == []


def test_docstrings_and_comments() -> None:
    found = [
        f"{path.relative_to(CHECKOUT)}:{line}: {bad}"
        for path in PYTHON
        for line, text in notes(path)
        for bad in wrong(text)
    ]
    assert found == []


def notes(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of docstrings, also of attributes, and of comments; those on successive lines are one."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.lineno, " ".join(str(node.value.value).split())
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {
        token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT
    }
    for line in comments:
        if line - 1 not in comments:
            block = itertools.takewhile(comments.__contains__, itertools.count(line))
            yield line, " ".join(comments[number] for number in block)


def python_sentences(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of strings with a space that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield node.lineno, str(text)
        elif isinstance(node, ast.Constant) and id(node) not in docstrings and " " in str(node.value):
            yield node.lineno, str(node.value)
