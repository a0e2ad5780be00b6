"""Events: written line by line, read as they appear, damage skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensortap.core.errors import InvalidValueError, NotFoundError
from tensortap.dump.format import events as events_module
from tensortap.dump.format.events import EventsTail
from tensortap.dump.write.writer import DumpWriter


@pytest.fixture
def writer(tmp_path: Path) -> DumpWriter:
    return DumpWriter(tmp_path, "r")


@pytest.fixture
def folder(writer: DumpWriter) -> Path:
    return writer.run_dir / writer.worker


def test_events_come_back_as_they_were_given(writer: DumpWriter, folder: Path) -> None:
    tail = EventsTail(folder.parent, folder.name)
    assert tail.poll() == []

    writer.event("batch", step=3, ids=["a", "π\n", "\ud800"], files=None)
    (first,) = tail.poll()
    writer.event("watch", rules=[])
    (second,) = tail.poll()
    writer.close()

    assert (first["kind"], first["step"], first["files"]) == ("batch", 3, None)
    assert first["ids"] == ["a", "π\n", "\\ud800"]
    assert "step" not in second
    assert 0 < first["time"] <= second["time"]
    assert (tail.poll(), tail.damage) == ([], [])


def test_half_a_line_waits_and_a_damaged_one_is_skipped(writer: DumpWriter, folder: Path) -> None:
    for step in range(3):
        writer.event("batch", step=step)
    writer.close()
    path = events_module.events_path(folder, 0)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    tail = EventsTail(folder.parent, folder.name)

    path.write_bytes(lines[0] + lines[1][:-5])
    assert [event["step"] for event in tail.poll()] == [0]
    path.write_bytes(lines[0] + lines[1].replace(b'"step": 1', b'"step": 7') + lines[2])
    assert [event["step"] for event in tail.poll()] == [2]
    assert len(tail.damage) == 1
    assert "checksum" in tail.damage[0]


@pytest.mark.parametrize(
    ("order", "steps", "sentence"),
    [
        ((0, 1, 1, 2), [0, 1, 2], "repeats an earlier one"),
        ((0, 1, 2, 0, 1), [0, 1, 2], "repeats an earlier one"),
        ((0, 2), [0, 2], "1 event missing before this line"),
        ((0, 0, 2), [0, 2], "repeats an earlier one"),
    ],
)
def test_a_line_that_is_there_twice_or_gone_is_reported(
    writer: DumpWriter, folder: Path, order: tuple[int, ...], steps: list[int], sentence: str
) -> None:
    for step in range(3):
        writer.event("batch", step=step)
    writer.close()
    path = events_module.events_path(folder, 0)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in order))
    tail = EventsTail(folder.parent, folder.name)
    assert [event["step"] for event in tail.poll()] == steps
    assert sentence in tail.damage[0]


def test_the_next_file_is_read_on(writer: DumpWriter, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "ROTATE", 200)
    for step in range(20):
        writer.event("batch", step=step, ids=["x" * 30])
    writer.close()

    tail = EventsTail(folder.parent, folder.name)
    found = [event["step"] for _ in range(20) for event in tail.poll()]
    assert found == list(range(20))
    assert events_module.events_path(folder, 3).exists()


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"{}\n", b"x" * (2 << 20), b'{"crc32c": "00000000", "a": 1}\n']
)
def test_hostile_bytes_are_reported_not_raised(data: bytes, writer: DumpWriter, folder: Path) -> None:
    writer.event("batch", step=0)
    writer.close()
    events_module.events_path(folder, 0).write_bytes(data)
    tail = EventsTail(folder.parent, folder.name)
    assert tail.poll() == []
    assert bool(tail.damage) == bool(data)


def test_what_cannot_be_a_line_is_refused(writer: DumpWriter) -> None:
    for facts in ({"a": object()}, {"a": float("nan")}, {"a": "x" * (2 << 20)}):
        with pytest.raises(InvalidValueError):
            writer.event("batch", **facts)
    with pytest.raises(NotFoundError):
        EventsTail(writer.run_dir, "../elsewhere")
    writer.close()


@pytest.mark.parametrize("arguments", [{"info": "x"}, {"info": {1: 2}}, {"rank": "a"}, {"rank": -1}])
def test_arguments_that_make_no_sense(arguments: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=f"{next(iter(arguments))}="):
        DumpWriter(tmp_path, "odd", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "odd").exists()
