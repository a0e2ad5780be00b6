"""http_api.md is true: it lists the routes that exist, and the keys that real answers have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_dump import Api

import tensortap.server
from tensortap.server.app import create_app


def in_one_line(block: re.Match[str]) -> str:
    """A block of code as `code`, so that all objects are found alike."""
    return f"`{re.sub(r' (?=[]}])', '', ' '.join(block[1].split()))}`"


DOCUMENT = re.sub(
    r"^```text\n(.*?)\n```$",
    in_one_line,
    (Path(tensortap.server.__file__).parent / "http_api.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE | re.DOTALL,
)
SECTIONS = dict(re.findall(r"^## GET (api/\S+)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL))
POSTED = re.findall(r"^## POST (api/\S+)\n", DOCUMENT, re.MULTILINE)  # tests/server/test_replay.py asks them
TENSOR = "tensor=dense/MatMul:0"
EXAMPLES = {
    "api/runs": "/api/runs",
    "api/changes": "/api/changes",
    "api/runs/<run>": "{first}",
    "api/runs/<run>/batch": "{first}/batch?step=1",
    "api/runs/<run>/batches": "{first}/batches?file=a.png",
    "api/runs/<run>/samples": "{first}/samples",
    "api/runs/<run>/most-similar": "{first}/most-similar",
    "api/runs/<run>/graphs": "{first}/graphs",
    "api/runs/<run>/graphs/<graph>": "{graph}",
    "api/runs/<run>/graphs/<graph>/steps/<step>": "{graph}/steps/1",
    "api/runs/<run>/graphs/<graph>/steps/<step>/histograms": "{graph}/steps/1/histograms?tensors=2:0",
    "api/runs/<run>/graphs/<graph>/timeline": "{graph}/timeline",
    "api/runs/<run>/graphs/<graph>/trends": "{graph}/trends?nodes=0,1",
    "api/runs/<run>/graphs/<graph>/range": "{graph}/range",
    "api/runs/<run>/graphs/<graph>/sources": "{graph}/sources",
    "api/runs/<run>/nodes/<node>": "{first}/nodes/dense/MatMul",
    "api/runs/<run>/nodes": "{first}/nodes?node=dense/MatMul",
    "api/runs/<run>/snapshots": "{first}/snapshots",
    "api/runs/<run>/history": "{first}/history?" + TENSOR,
    "api/runs/<run>/histograms": "{first}/histograms?" + TENSOR,
    "api/runs/<run>/workers": "{first}/workers?" + TENSOR,
    "api/runs/<run>/value": "{first}/value?format=json&step=1&" + TENSOR,
    "api/runs/<run>/nonfinite": "{first}/nonfinite?step=1&" + TENSOR,
    "api/runs/<run>/logs": "{first}/logs",
    "api/runs/<run>/elements": "{first}/elements?tensor=dense/MatMul:0&step=2&find=max",
    "api/runs/<run>/source": "{first}/source?file=train.py",
    "api/runs/<run>/problems": "{first}/problems",
    "api/runs/<run>/findings": "{first}/findings",
    "api/runs/<run>/nan": "{first}/nan",
    "api/runs/<run>/ledger": "{first}/ledger",
    "api/runs/<run>/recordings": "{first}/recordings",
    "api/runs/<run>/story": "{first}/story",
    "api/runs/<run>/tap.zip": "{first}/tap.zip",
    "api/diff": "/api/diff?a={run}&b={run}&step=0&step_b=1",
    "api/diff/value": "/api/diff/value?a={run}&b={run}&format=json&step=0&step_b=1&" + TENSOR,
    "api/diff/worst": "/api/diff/worst?a={run}&b={run}&step=0&step_b=1&" + TENSOR,
}


def address(heading: str) -> str:
    """`api/changes?since=CURSOR` -> `api/changes`."""
    return heading.partition("?")[0]


def top_level_keys(text: str) -> list[set[str]]:
    """The keys of each object `{"a": …, "b"}` that a section writes down, without those of nested objects."""
    return [set(_outer(span)) for span in re.findall(r"`(\{ ?\".*?\})`", text)]


def _outer(span: str) -> list[str]:
    depth, keys = 0, []
    for part in re.finditer(r'[{\[]|[}\]]|"([^"]*)"(?=[:,}])', span):
        if part.group() in "{[":
            depth += 1
        elif part.group() in "}]":
            depth -= 1
        elif depth == 1:
            keys.append(part.group(1))
    return keys


def test_the_document_lists_the_routes() -> None:
    rules = create_app("nowhere").url_map.iter_rules()
    routes = {
        re.sub(r"<[^<>]*:(\w+)>", r"<\1>", rule.rule).lstrip("/") for rule in rules if "/api/" in rule.rule
    }
    assert {address(heading) for heading in SECTIONS} | set(POSTED) == routes == set(EXAMPLES) | set(POSTED)


FILE = "api/runs/<run>/tap.zip"  # tests/server/test_story.py reads it
SAME_AS_BEFORE = "api/runs/<run>/nodes?node=&graph="
JSON = [
    heading
    for heading, text in SECTIONS.items()
    if "*Columns*" not in text and heading not in (SAME_AS_BEFORE, FILE)
]
COLUMNS = [heading for heading, text in SECTIONS.items() if "*Columns*" in text]


@pytest.mark.parametrize("heading", JSON)
def test_a_documented_key_is_in_the_answer(heading: str, api: Api, first: str, graph: str) -> None:
    run = first.rpartition("/")[2]
    answer = api.json(EXAMPLES[address(heading)].format(first=first, graph=graph, run=run))
    documented = top_level_keys(SECTIONS[heading])
    assert documented
    assert set(answer) <= documented[0], "an undocumented key"
    assert documented[0] - set(answer) <= {"thinned_from"}


def test_the_rows_have_the_documented_keys(api: Api, first: str) -> None:
    for heading, rows in (
        ("history?tensor=", "columns"),
        ("histograms?tensor=", "rows"),
        ("snapshots", "rows"),
    ):
        text = SECTIONS[f"api/runs/<run>/{heading}"]
        path = EXAMPLES[address(f"api/runs/<run>/{heading}")].format(first=first)
        found = api.json(path)[rows]
        found = found if isinstance(found, dict) else found[0]
        nested = re.search(rf'"{rows}": \[?(\{{.*?\}})', text)
        assert nested
        keys = set(_outer(re.sub(r"…[^,}]*", "", nested.group(1)).replace(", ,", ",")))
        assert keys <= set(found), heading


@pytest.mark.parametrize("heading", COLUMNS)
def test_a_documented_column_is_in_the_answer(heading: str, api: Api, first: str, graph: str) -> None:
    meta, columns = api.columns(EXAMPLES[address(heading)].format(first=first, graph=graph))
    text = SECTIONS[heading]
    assert top_level_keys(text)[0] == set(meta)
    words = set(re.findall(r"`([a-z_0-9]+)`", text))
    assert set(columns) <= words, "an undocumented column"
    assert not words - set(columns) - {"meta"}, "a documented column that is missing"
