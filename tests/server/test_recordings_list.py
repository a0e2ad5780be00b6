"""Which recordings there are: the list that the page asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from small_dump import Api

from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import write_recording
from tensortap.dump.write.writer import DumpWriter


def test_a_recording_that_was_mended_is_listed_with_its_names(
    tmp_path: Path, opened: Callable[..., Api]
) -> None:
    with DumpWriter(tmp_path, "run") as writer:
        writer.log("x", 1.0, step=5)
    manifest = write_recording(tmp_path / "run", Recording("f", b"", (), 5)) / "recording.json"
    api = opened(tmp_path)
    whole = manifest.read_bytes()
    for content, function in ((b"{", ""), (whole, "f")):
        manifest.write_bytes(content)
        (listed,) = api.json(f"/api/runs/{api.run_id('run')}/recordings")["recordings"]
        assert listed["function"] == function
