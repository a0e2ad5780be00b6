"""Stories: the answers of the HTTP API that show one run, recorded for a page that has no server.

`record_story` sends requests to the application, so that a story contains exactly the server's answers;
`story_html` puts a story into the static viewer (frontend/src/viewer.tsx), which is one HTML file.
`add_viewer_part` puts one into a `.tap.zip`, for the same viewer.

A story holds some steps of a run whole (statistics, table, small histograms), and of its tensors history,
histograms and values, the tensors of findings and of NaN first, up to a size. It lists skipped data.
"""

from __future__ import annotations

import base64
import gzip
import json
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from flask import Flask

from tensortap.core.errors import NotFoundError, TensortapError
from tensortap.core.progress import AdvanceCount, ignore_count
from tensortap.core.text import counted
from tensortap.dump.format.layout import VIEWER_PART
from tensortap.exporters.tap_zip import refuse_damage
from tensortap.index.run_index import RunIndex

from .log_reader import close_log, read_whole
from .responses.columns_format import read_columns

FORMAT = "tensortap-story"
VERSION = 1
VIEWER = Path(__file__).parent / "static" / "viewer.html"
MAX_BYTES = 24 * 10**6  # compressed; base64 adds a third
MAX_STEPS = 16
_MAX_ROWS = 2000  # of the table at a step
_PAGE = 1000
_BATCH_NAMES = 256  # nodes or tensors of a request
_SECONDS = 60.0  # for all of it
_MAX_VALUE, _MAX_FOCUS_VALUE = 64 * 2**10, 2**20  # bytes
_MOST_PLACES = 1000  # elements that the page requests
_POLL_INTERVAL = 0.1  # s between two checks whether an analysis is done
_STATISTICS = ("abs_max", "l2", "std", "mean", "min", "max")
_PLACE = '<script type="application/octet-stream" id="tensortap-story"></script>'
_NAMING = frozenset(("tensor", "loss"))  # fields of analyses that name a tensor

_T = TypeVar("_T")
Query = Mapping[str, Any]
NOTHING: Query = {}


class StoryError(TensortapError):
    """A run has no story, or the viewer is not built; the message has the reason."""


@dataclass(slots=True)
class _Recorder:
    """Sends requests to an application, and stores the responses."""

    app: Flask
    until: float
    max_bytes: int
    answers: list[dict[str, Any]] = field(default_factory=list)
    size: int = 0  # bytes, compressed

    @property
    def full(self) -> bool:
        return self.size >= self.max_bytes or time.monotonic() >= self.until

    def ask(self, path: str, query: Query) -> tuple[int, str, bytes]:
        """(status, content type, body); the request is already allowed: it passes no security middleware."""
        with self.app.test_request_context(f"/api/{quote(path)}", query_string=_texts(query)):
            answer = self.app.full_dispatch_request()
            return answer.status_code, answer.content_type, answer.get_data()

    def keep(self, path: str, query: Query, content: Mapping[str, Any], size: int) -> None:
        self.answers.append({"path": path, "query": _texts(query), **content})
        self.size += size

    def json(
        self, path: str, query: Query = NOTHING, change: Callable[[Any], Any] = lambda answer: answer
    ) -> Any:
        """A JSON response, stored after `change`; None without one."""
        status, _, body = self.ask(path, query)
        if status != 200:
            return None
        answer = change(json.loads(body))
        self.keep(path, query, {"json": answer}, len(zlib.compress(body, 1)))
        return answer

    def binary(self, path: str, query: Query = NOTHING) -> bytes | None:
        status, _, body = self.ask(path, query)
        if status != 200:
            return None
        self.keep(path, query, {"data": base64.b64encode(body).decode()}, len(zlib.compress(body, 1)))
        return body

    def wait_for_analysis(self, path: str, query: Query = NOTHING) -> Any:
        """The response of a finished analysis; None if it failed or takes too long."""
        while time.monotonic() < self.until:
            status, _, body = self.ask(path, query)
            answer = json.loads(body) if status == 200 else None
            if answer is None or answer.get("error"):
                return None
            if not answer["working"]:
                self.keep(path, query, {"json": answer}, len(zlib.compress(body, 1)))
                return answer
            time.sleep(_POLL_INTERVAL)
        return None


def _texts(query: Query) -> dict[str, str]:
    """Parameters for a URL, without unset ones."""
    return {
        key: "1" if value is True else str(value)
        for key, value in query.items()
        if value is not None and value is not False
    }


def record_story(
    app: Flask,
    run: RunIndex,
    *,
    steps: Sequence[int] | None = None,
    also: Iterable[int] = (),
    tensors: Iterable[str] = (),
    other: RunIndex | None = None,
    max_bytes: int = MAX_BYTES,
    seconds: float = _SECONDS,
    advance: AdvanceCount = ignore_count,
) -> dict[str, Any]:
    """Record all that a page shows of a run, as JSON.

    Args:
        steps: those to hold whole; by default up to `MAX_STEPS`, among them the first with NaN or Inf.
        also: further steps to include.
        tensors: names to include first, in addition to those of findings.
        other: a run of the application to compare with, on which the page opens.

    Raises:
        StoryError: there is nothing to show. DamagedError: the run is damaged.
    """
    refuse_damage(run)
    recorder = _Recorder(app, time.monotonic() + seconds, max_bytes)
    place, left_out = f"runs/{run.id}", list[str]()
    detail = json.loads(recorder.ask(place, {})[2])
    graphs = [graph["id"] for graph in detail.get("graphs", ())]
    if not graphs:
        raise StoryError(f"The run {run.name!r} has no snapshots.", "Choose another run.")
    nan = recorder.wait_for_analysis(f"{place}/nan")
    found = recorder.wait_for_analysis(f"{place}/findings")
    losses = recorder.wait_for_analysis(f"{place}/ledger")
    left_out += [
        f"{what}: the analysis failed or took too long."
        for what, answer in (("Origins of NaN", nan), ("Findings", found), ("Zero gradients", losses))
        if answer is None
    ]
    origin = ((nan or {}).get("report") or {}).get("step")
    held = _chosen_steps(detail["steps"], steps, origin, frozenset(also))
    _record_run(recorder, run, other, graphs, frozenset(held))
    if other is not None:
        left_out += _record_comparison(recorder, run, other)
    focus = {*tensors, *_named_tensors(nan), *_named_tensors(found)}
    rows = list[dict[str, Any]]()
    for graph in graphs:
        rows += _record_graph(recorder, place, graph, held, left_out)
    seen = _by_tensor(rows)
    order = sorted(seen, key=lambda key: key[1] not in focus)
    total = len(detail["steps"]["step"])
    for done, key in enumerate(order):
        if recorder.full:
            kinds = "history, histograms and values"
            left_out.append(f"{kinds} of {counted(len(order) - done, 'tensor')} (of {len(order):,}).")
            break
        _record_tensor(
            recorder,
            place,
            key,
            seen[key],
            focus=key[1] in focus,
            thinned=total > 200,
            several_workers=len(detail["workers"]) > 1,
        )
        advance(done + 1, len(order))
    if len(held) < total:
        left_out.insert(0, f"{total - len(held):,} of {counted(total, 'step')} (histories show all steps).")
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": version("tensortap"),
        "run": run.id,
        "name": run.name,
        "made": time.time(),
        "link": _link(run, other, problems=origin is not None),
        "notes": [],
        "left_out": left_out,
        "answers": recorder.answers,
    }


def _link(run: RunIndex, other: RunIndex | None, *, problems: bool) -> str:
    """The address of the view that the page opens on."""
    link = f"#run={quote(run.id, safe='')}"
    if other is not None:
        return f"{link}&view=compare&other={quote(other.id, safe='')}"
    return f"{link}&view=problems" if problems else link


def story_of(
    app: Flask, run_id: str | None = None, compare_with: Path | None = None, **options: Any
) -> dict[str, Any]:
    """`record_story` of a run (by default the only one), without a running server; ends it.

    Args:
        compare_with: the folder of another of its runs.
    """
    try:
        log = read_whole(app)
        run = log.runs[0] if run_id is None else log.run(run_id)
        other = next((each for each in log.runs if each.path == compare_with), None)
        if compare_with is not None and other is None:
            raise StoryError("The run to compare with was not found.", "Pass the folder of a run.")
        return record_story(app, run, other=other, **options)
    finally:
        close_log(app)


def _chosen_steps(
    columns: Mapping[str, Any], wanted: Sequence[int] | None, origin: int | None, also: frozenset[int]
) -> list[int]:
    """The steps of a story, ascending."""
    steps: list[int] = columns["step"]
    if wanted is not None:
        held = sorted((set(wanted) | also) & set(steps))
        if not held and steps:
            raise NotFoundError(
                "The run has none of these steps.", f"Steps range from {steps[0]} to {steps[-1]}."
            )
        return held
    if len(steps) <= MAX_STEPS:
        return steps
    bad = (at for at, counts in enumerate(zip(columns["nan"], columns["inf"], strict=True)) if any(counts))
    first = steps.index(origin) if origin in steps else next(bad, None)
    chosen = {0, len(steps) - 1}
    if first is not None:
        chosen |= {at for at in range(first - 2, first + 3) if 0 <= at < len(steps)}
    room = MAX_STEPS - len(chosen)
    chosen |= {round(at * (len(steps) - 1) / (room + 1)) for at in range(1, room + 1)}
    return sorted({steps[at] for at in chosen} | (also & set(steps)))


def _record_comparison(recorder: _Recorder, run: RunIndex, other: RunIndex) -> list[str]:
    """Records the comparison of two runs, and the other run's graphs; returns sentences about skipped
    data."""
    found = recorder.wait_for_analysis("diff", {"a": run.id, "b": other.id, "all": True})
    if found is None or not found["comparison"]:
        return [f"Comparison with {other.name}: the analysis failed or took too long."]
    place = f"runs/{other.id}"
    recorder.json(place)
    for pair in found["comparison"]["graphs"]:
        recorder.binary(f"{place}/graphs/{pair['b']}")
    return [f"Tensors of {other.name}, except for the comparison."]


def _record_run(
    recorder: _Recorder, run: RunIndex, other: RunIndex | None, graphs: list[str], held: frozenset[int]
) -> None:
    place = f"runs/{run.id}"
    listed = {run.id} if other is None else {run.id, other.id}

    def only_this(answer: dict[str, Any]) -> dict[str, Any]:
        entries = [entry | {"live": False} for entry in answer["runs"] if entry["id"] in listed]
        return {**answer, "cursor": "story", "runs": entries, "reading": {}, "unread": [], "unread_count": 0}

    def of_held_steps(answer: dict[str, Any]) -> dict[str, Any]:
        chosen = [step in held for step in answer["steps"]["step"]]
        columns = {
            name: [value for value, kept in zip(column, chosen, strict=True) if kept]
            for name, column in answer["steps"].items()
        }
        return {**answer, "steps": columns}

    recorder.json("runs", change=only_this)
    recorder.json(place, change=of_held_steps)
    for graph in graphs:
        recorder.json(place, {"graph": graph}, of_held_steps)
        recorder.json(f"{place}/logs", {"graph": graph})
    for noun in ("graphs", "problems"):
        recorder.json(f"{place}/{noun}")
    for step in held:
        recorder.json(f"{place}/batch", {"step": step})


def _record_graph(
    recorder: _Recorder, place: str, graph: str, held: list[int], left_out: list[str]
) -> list[dict[str, Any]]:
    """Records a graph with its statistics; returns its rows of the table at the held steps."""
    at = f"{place}/graphs/{graph}"
    recorder.binary(at)
    sources = recorder.json(f"{at}/sources")
    for file in (sources or {}).get("files", ()):
        recorder.json(f"{place}/source", {"file": file["file"]})
    for statistic in _STATISTICS:
        recorder.json(f"{at}/range", {"statistic": statistic})
    for statistic in ("nan_share", "abs_max"):
        recorder.binary(f"{at}/timeline", {"statistic": statistic})
    nodes, rows, skipped = set[int](), list[dict[str, Any]](), 0
    for step in held:
        if recorder.full:
            skipped += 1
            continue
        found = _record_step(recorder, f"{at}/steps/{step}")
        if found:
            nodes |= found
            rows += _record_table(recorder, place, graph, step, left_out)
    for part in _parts(sorted(nodes)):
        for statistic in _STATISTICS:
            asked = {"nodes": ",".join(map(str, part)), "statistic": statistic, "places": 96}
            recorder.binary(f"{at}/trends", asked)
    if skipped:
        left_out.append(f"statistics of {counted(skipped, 'step')} of the graph {graph}.")
    return rows


def _record_step(recorder: _Recorder, at: str) -> set[int]:
    """Records the statistics and small histograms of a step; returns its captured nodes' rows."""
    statistics = recorder.binary(at)
    if statistics is None:
        return set()
    _, columns = read_columns(statistics)
    pairs = list(zip(columns["node"].tolist(), columns["slot"].tolist(), strict=True))
    for part in _parts(pairs):
        recorder.binary(f"{at}/histograms", {"tensors": ",".join(f"{node}:{slot}" for node, slot in part)})
    return {node for node, _ in pairs}


def _record_table(
    recorder: _Recorder, place: str, graph: str, step: int, left_out: list[str]
) -> list[dict[str, Any]]:
    rows, total = list[dict[str, Any]](), 0
    asked = {"graph": graph, "step": step, "sort": "flow", "trend": "abs_max", "samples": True}
    asked |= {"histograms": True, "limit": _PAGE}
    while not rows or len(rows) < min(total, _MAX_ROWS):
        page = recorder.json(f"{place}/snapshots", asked | {"offset": len(rows)})
        if page is None or not page["rows"]:
            break
        total, rows = page["total"], rows + page["rows"]
    if total > len(rows):
        left_out.append(f"{total - len(rows):,} of {counted(total, 'tensor')} of the table at step {step}.")
    return rows


def _record_tensor(
    recorder: _Recorder,
    place: str,
    key: tuple[str, str],
    rows: list[dict[str, Any]],
    *,
    focus: bool,
    thinned: bool,
    several_workers: bool,
) -> None:
    graph, tensor = key
    named: Query = {"graph": graph, "tensor": tensor}
    recorder.json(f"{place}/nodes", {"node": rows[0]["node"], "graph": graph})
    recorder.json(f"{place}/history", named)
    if several_workers:
        recorder.binary(f"{place}/workers", {**named, "statistic": "mean"})
    for scale in ("symlog", "linear") if focus else ("symlog",):
        asked = {**named, "scale": scale, "merge": "visits"}
        recorder.json(f"{place}/histograms", {**asked, "limit": 200})
        for step in sorted({row["step"] for row in rows}) if focus and thinned else ():
            recorder.json(f"{place}/histograms", {**asked, "steps": step})
    limit = (_MAX_FOCUS_VALUE if focus else _MAX_VALUE) // 8
    kept = [row for row in rows if row["kept"] and (row["size"] or 0) <= limit]
    for row in {(row["step"], row["visit"]): row for row in kept}.values():  # one for all workers
        _record_value(recorder, place, {**named, "step": row["step"], "visit": row["visit"]}, row, focus)


def _record_value(recorder: _Recorder, place: str, at: Query, row: dict[str, Any], focus: bool) -> None:
    recorder.binary(f"{place}/value", {**at, "format": "npy"})
    if any(row[count] for count in ("nan", "pos_inf", "neg_inf")):
        recorder.json(f"{place}/nonfinite", {**at, "limit": _MOST_PLACES})
    for find in ("max", "min", "zero") if focus else ():
        recorder.json(f"{place}/elements", {**at, "find": find, "limit": _MOST_PLACES})


def _by_tensor(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["graph"], row["tensor"]), []).append(row)
    return found


def _named_tensors(answer: Any) -> Iterator[str]:
    """Every tensor that an analysis names."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name in _NAMING and isinstance(value, str):
                yield value
            else:
                yield from _named_tensors(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _named_tensors(value)


def _parts(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), _BATCH_NAMES):
        yield items[start : start + _BATCH_NAMES]


def packed(story: Mapping[str, Any]) -> bytes:
    """A story in the viewer's format; equal stories give equal bytes."""
    return gzip.compress(json.dumps(story, separators=(",", ":"), allow_nan=False).encode(), 6, mtime=0)


def story_html(story: Mapping[str, Any]) -> str:
    """The static viewer with a story in it, as base64.

    Raises:
        StoryError: the viewer was not built.
    """
    if not VIEWER.is_file():
        raise StoryError("The static viewer was not built.", "Run 'make frontend' in the checkout.")
    before, place, after = VIEWER.read_text(encoding="utf-8").partition(_PLACE)
    if not place:
        raise StoryError("The static viewer is outdated.", "Build it again: 'make frontend'.")
    data = base64.b64encode(packed(story)).decode()
    return f"{before}{_PLACE.removesuffix('</script>')}{data}</script>{after}"


def add_viewer_part(tap_zip: Path, story: Mapping[str, Any]) -> None:
    """Stores a story in a `.tap.zip`, which the static viewer shows when the file is dropped on it."""
    info = zipfile.ZipInfo(VIEWER_PART, (1980, 1, 1, 0, 0, 0))
    info.external_attr = 0o644 << 16
    with zipfile.ZipFile(tap_zip, "a", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.writestr(info, packed(story))
