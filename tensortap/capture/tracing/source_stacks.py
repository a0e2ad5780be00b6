"""Source locations of the nodes of a function: stacks of user frames, and the text of the files they name."""

from __future__ import annotations

import linecache
import os
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import tensorflow as tf

from tensortap.core.records import Frame
from tensortap.tf import internals

Stack = tuple[Frame, ...]

MAX_SOURCE = 1 << 20  # bytes of one embedded file
MAX_SOURCES = 8 << 20  # bytes of all embedded files of a graph

_INSTALLED = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
_LIBRARY_FOLDERS = tuple(
    str(Path(folder).resolve()) + os.sep for folder in (*_INSTALLED, str(Path(tf.__file__).parents[1]))
)
_PACKAGES = frozenset({"site-packages", "dist-packages"})  # of any Python, also of one beside this
_PACKAGE = Path(__file__).resolve().parents[2]
# Packages of ours that run TensorFlow; the demo's model (cli/demo_model.py) is shown as a user's would be.
_OWN_FOLDERS = tuple(str(_PACKAGE / name) + os.sep for name in ("capture", "tf", "replay"))


def stacks_of(function: str) -> dict[str, Stack]:
    """Node name -> its user frames, innermost last. Empty for functions that were loaded from files."""
    try:
        info = internals.debug_info(function)
    except tf.errors.NotFoundError:
        return {}
    frames = {identifier: _frame(info, frame) for identifier, frame in info.frames_by_id.items()}
    by_trace = {
        identifier: tuple(frame for key in trace.frame_id if is_user_file((frame := frames[key])[0]))
        for identifier, trace in info.traces_by_id.items()
    }
    return {
        name: without_repeats(by_trace[trace])
        for name, trace in info.name_to_trace_id.items()
        if trace in by_trace
    }


def _frame(info: internals.GraphDebugInfo, frame: Any) -> Frame:
    return internals.user_line(info.files[frame.file_index], int(frame.line), str(frame.func))


def without_repeats(stack: Stack) -> Stack:
    """Removes repeated frames: Autograph maps its own frames to the user's line."""
    return tuple(frame for index, frame in enumerate(stack) if index == 0 or frame != stack[index - 1])


@lru_cache(maxsize=4096)
def is_user_file(path: str) -> bool:
    """Whether a file is neither Python's, nor an installed package's, nor ours that runs TensorFlow."""
    if path.startswith("<frozen") or path in ("", "<string>"):
        return False
    resolved = Path(path).resolve()
    inside_library = str(resolved).startswith(_LIBRARY_FOLDERS) or not _PACKAGES.isdisjoint(resolved.parts)
    return not inside_library and not str(resolved).startswith(_OWN_FOLDERS)


def sources_of(stacks: Iterable[Sequence[Frame]]) -> Mapping[str, str]:
    """File -> text, for the files named in `stacks`, without large ones."""
    texts: dict[str, str] = {}
    room = MAX_SOURCES
    for path in dict.fromkeys(frame[0] for stack in stacks for frame in stack):
        # linecache also has the cells of a notebook, which are not files.
        text = "".join(linecache.getlines(path))
        if text and len(text) <= min(MAX_SOURCE, room):
            texts[path] = text
            room -= len(text)
    return texts
