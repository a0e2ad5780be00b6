"""Finds a recording: a bundle, or a step of a run."""

from __future__ import annotations

from pathlib import Path

from tensortap.core.errors import NotFoundError
from tensortap.dump.format.events import EventsTail
from tensortap.dump.read.runs import RunReader, find_runs
from tensortap.dump.recording.bundle import read_bundle
from tensortap.dump.recording.recording import Recording
from tensortap.dump.recording.recording_files import RecordingPlace, find_recordings, read_recording
from tensortap.storage.filesystem import is_folder


def recordings_in(path: Path) -> list[RecordingPlace]:
    """The recordings of the run at `path`, or of the only run below it.

    Raises:
        NotFoundError: there are no runs or several, or the run has none.
    """
    runs = find_runs(path) if is_folder(path) else []
    if len(runs) != 1:
        known = ", ".join(name for name, _ in runs[:10]) or "none"
        raise NotFoundError(f"{str(path)!r} is not a run; it contains {known}.", "Pass a run or a bundle.")
    found = find_recordings(runs[0][1])
    if not found:
        reasons = _why_unrecorded(runs[0][1])
        hint = " ".join(reasons) or "Record steps with Tap(…, record=every(100))."
        raise NotFoundError(f"The run {runs[0][0]!r} has no recording.", hint)
    return found


def _why_unrecorded(run_dir: Path) -> list[str]:
    """Warnings about recordings that the program requested but did not get."""
    events = (
        event
        for worker in RunReader(run_dir).workers()
        for event in EventsTail(run_dir, worker.worker).poll()
    )
    texts = [str(event.get("text")) for event in events if event.get("about") == "record"]
    return list(dict.fromkeys(texts))[:3]


def locate(path: Path, step: int | None, call: int | None) -> Path:
    """Path of a bundle, or folder of a recording. The default is the last step and its last call.

    Args:
        path: a run, or a bundle, which is returned as it is.
        step: the recorded step; None: the last.
        call: number of the call in that step, from 0; None: the last.

    Example:
        ```python
        from pathlib import Path
        from tensortap.replay import locate

        print(locate(Path("logs/recorded"), step=0, call=None))
        ```

    Raises:
        NotFoundError: the step was not recorded; the hint lists the recorded steps.
    """
    if is_plain_file(path):
        return path
    found = recordings_in(path)
    fitting = [
        place
        for place in found
        if (step is None or place.step == step) and (call is None or place.call == call)
    ]
    if not fitting:
        steps = ", ".join(map(str, sorted({place.step for place in found})[:20]))
        raise NotFoundError(f"No recording of step {step}.", f"Recorded steps: {steps}.")
    return fitting[-1].path


def locate_beside(source: Path, step: int, run: str) -> Path:
    """The last recording of another step of the same run, or of a run in the same folder.

    Raises:
        NotFoundError: `source` is a bundle, or the run or step does not exist.
    """
    if is_plain_file(source):
        raise NotFoundError("A bundle has only one step.", "Replay a run instead.")
    run_dir = source.parent.parent
    if run:
        beside = dict(find_runs(run_dir.parent))  # never a path that a name leads to
        if run not in beside:
            known = ", ".join(list(beside)[:10])
            raise NotFoundError(f"No run {run[:100]!r} in the same folder.", f"This folder contains {known}.")
        run_dir = beside[run]
    return locate(run_dir, step, None)


def open_recording(path: Path) -> Recording:
    """Open the recording in a folder or bundle.

    Example:
        ```python
        from pathlib import Path
        from tensortap.replay import locate, open_recording

        recording = open_recording(locate(Path("logs/recorded"), step=0, call=None))
        print(recording.step, recording.function)
        ```

    Raises:
        DamagedError, NotFoundError, FormatVersionError: it cannot be read.
    """
    return read_bundle(path) if is_plain_file(path) else read_recording(path)


def is_plain_file(path: Path) -> bool:
    """Whether it is a file, and no archive with a run (`.tap.zip`)."""
    return path.is_file() and not is_folder(path)
