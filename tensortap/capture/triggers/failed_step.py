"""What is noted of a step that raised."""

from __future__ import annotations

import re

import tensorflow as tf

from .firing import TrainingStoppedError

# They end a step in an orderly way.
ENDS = (StopIteration, tf.errors.OutOfRangeError, TrainingStoppedError)
_MARK = re.compile(r"\{\{function_node [^}]*\}\}\s*")
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_PLACE = re.compile(r"^\s*(\[\[|Detected at node|File |Graph execution error)")
_USER_CODE = "in user code:"  # what AutoGraph puts before a message, and then its type
_ABOUT = re.compile(rf"^\s*({_USER_CODE}|Exception encountered when calling |.*Error encountered:$)")  # Keras
_TYPE = re.compile(r"^[A-Z]\w*(Error|Exception|Warning|Interrupt): ")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MOST = 300  # characters of a message


def has_failed(error: BaseException | None) -> bool:
    """Whether a step ended by an error of the program, not by the end of its data, a trigger, or Ctrl-C."""
    return isinstance(error, Exception) and not isinstance(error, ENDS)


def failure_facts(error: BaseException) -> dict[str, str]:
    """The facts of the event: `error`, type and message, and `node`, where TensorFlow names one."""
    text = str(error)
    message = _message(text)[:_MOST]
    typed = text.startswith(_USER_CODE) or (_ABOUT.match(text) and _TYPE.match(message))
    if not message or not typed:
        message = type(error).__name__ + (f": {message}" if message else "")
    nodes = _NODE.findall(text)
    return {"error": message} | ({"node": nodes[-1]} if nodes else {})


def _message(text: str) -> str:
    """The first line that says what is wrong, behind places and what AutoGraph and Keras put before it."""
    frame = ""  # the indent of a place, if the line before was one: a line of its code may follow
    for line in _COLOURS.sub("", text).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        code = bool(frame) and len(indent) >= len(frame)
        frame = f"{indent} " if line.lstrip().startswith("File ") else ""
        told = _MARK.sub("", line).strip()
        if not told or code or _PLACE.match(line):
            continue
        _, _, rest = told.partition(": ") if _TYPE.match(told) else ("", "", told)
        if not _ABOUT.match(rest):
            return told
    return ""
