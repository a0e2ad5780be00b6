"""The documents: links, pictures and named files exist; how-to pages are short; sentences are readable."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from docs_text import grade, sentences, words_of
from documents import ALL_DOCUMENTS, CHECKOUT, DOCS, DOCUMENTS

IMAGES = DOCS / "images"
HOW_TO = [name for name in DOCUMENTS if name.startswith("how-to/")]
MOST_WORDS = 400  # of a how-to page
HIGHEST_GRADE = 8.0  # Flesch-Kincaid, of any page
MEAN_WORDS, MOST_WORDS_A_SENTENCE, MOST_IN_HOW_TO = 15.0, 30, 25
GENERATED = {
    "command_options.md",
    "rules.md",
    "api.md",
    "http_api.md",
}  # .ci/docs_site.py makes these of code
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
CODE_FILE = re.compile(r"[\w/.-]*\w\.(?:py|tsx?|sh)\b")
USERS = re.compile(
    r"(^|/)(train|fixed|reader|cnn|drift|step|nan|hot|my_program|program|model|demo_training)\.py$"
)


@pytest.mark.parametrize("name", ALL_DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    path = ALL_DOCUMENTS[name]
    dead = []
    for target, anchor in LINK.findall(_prose(path)):
        found = (path.parent / target).resolve() if target else path
        if target and found.name in GENERATED and found.parent == DOCS:
            continue
        if not found.exists():
            dead.append(target)
        elif anchor and found.suffix == ".md" and anchor[1:] not in _anchors(found):
            dead.append(target + anchor)
    assert dead == []


def _anchors(path: Path) -> set[str]:
    """The ids of its headings, as the site and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", _prose(path), re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", text.lower()).strip()) for text in headings}


def _prose(path: Path) -> str:
    """Its text without blocks of code."""
    return re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def test_pictures_are_made_by_the_script_and_shown() -> None:
    shown = {
        (ALL_DOCUMENTS[name].parent / target).resolve()
        for name in ALL_DOCUMENTS
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", ALL_DOCUMENTS[name].read_text(encoding="utf-8"))
    }
    script = (CHECKOUT / "tests" / "support" / "docs_pictures.py").read_text(encoding="utf-8")
    made = {IMAGES / f"{name}.png" for name in re.findall(r'^    "(\w+)": Picture\(', script, re.MULTILINE)}
    assert shown == made == set(IMAGES.glob("*.png"))


@pytest.mark.parametrize("name", sorted({*DOCUMENTS, "ARCHITECTURE.md", "CONTRIBUTING.md"}))
def test_named_files_of_the_code_exist(name: str) -> None:
    files = {path.relative_to(CHECKOUT).as_posix() for path in _files_of_the_code()}
    missing = [
        named
        for named in CODE_FILE.findall(" ".join(re.findall(r"`([^`\n]+)`", _prose(ALL_DOCUMENTS[name]))))
        if not USERS.search(named) and not any(file == named or file.endswith(f"/{named}") for file in files)
    ]
    assert missing == []


def _files_of_the_code() -> list[Path]:
    found = []
    for folder, folders, names in os.walk(CHECKOUT):
        folders[:] = [
            name for name in folders if name not in ("node_modules", ".venv", ".git", ".tools", "site")
        ]
        found += [Path(folder, name) for name in names if name.endswith((".py", ".ts", ".tsx", ".sh"))]
    return found


@pytest.mark.parametrize("name", HOW_TO)
def test_a_how_to_page_is_short(name: str) -> None:
    assert words_of(name) <= MOST_WORDS


@pytest.mark.parametrize("name", ALL_DOCUMENTS)
def test_sentences_are_short_and_easy_to_read(name: str) -> None:
    lengths = [len(sentence.words) for sentence in sentences(name)]
    if not lengths:
        return
    assert sum(lengths) / len(lengths) <= MEAN_WORDS
    most = MOST_IN_HOW_TO if name in HOW_TO else MOST_WORDS_A_SENTENCE
    assert [sentence for sentence in sentences(name) if len(sentence.words) > most] == []
    assert grade(sentences(name)) <= HIGHEST_GRADE


def test_environment_variables_are_documented() -> None:
    """docs/configuration.md has all that the code reads; PARENT is for tensortap's own processes."""
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    files = [
        path
        for path in _files_of_the_code()
        if path.parts[len(CHECKOUT.parts)] in ("tensortap", "server", "plugin")
    ]
    read = {name for path in files for name in re.findall(r"\bTENSORTAP_[A-Z_]+\b", path.read_text("utf-8"))}
    assert read - {"TENSORTAP_PARENT"} <= set(re.findall(r"TENSORTAP_[A-Z_]+", text))
