"""Steps that raised: whether that was an error, and what the dump notes of it."""

from __future__ import annotations

import re

import tensorflow as tf

from .firing import TrainingStoppedError

_ORDERLY_ENDS = (StopIteration, tf.errors.OutOfRangeError, TrainingStoppedError)
_MARK = re.compile(r"\{\{function_node [^}]*\}\}\s*")
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_PLACE = re.compile(r"^\s*(\[\[|Detected at node|File |Graph execution error)")
_USER_CODE = "in user code:"  # what AutoGraph puts before a message, and then its type
_ABOUT = re.compile(rf"^\s*({_USER_CODE}|Exception encountered when calling |.*Error encountered:$)")  # Keras
_TYPE = re.compile(r"^[A-Z]\w*(Error|Exception|Warning|Interrupt): ")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MAX_MESSAGE = 300  # characters of a message


def has_failed(error: BaseException | None) -> bool:
    """Whether a step ended by an error of the program, not by the end of its data, a trigger, or Ctrl-C."""
    return isinstance(error, Exception) and not isinstance(error, _ORDERLY_ENDS)


def failure_facts(error: BaseException) -> dict[str, str]:
    """The facts of the event: `error`, type and message, and `node`, where TensorFlow names one."""
    text = str(error)
    message = _message(text)[:_MAX_MESSAGE]
    typed = text.startswith(_USER_CODE) or (_ABOUT.match(text) and _TYPE.match(message))
    if not message or not typed:
        message = type(error).__name__ + (f": {message}" if message else "")
    nodes = _NODE.findall(text)
    return {"error": message} | ({"node": nodes[-1]} if nodes else {})


def _message(error: str) -> str:
    """The first line of the message proper: AutoGraph and Keras put places and other lines before it."""
    frame = ""  # the indent of a place, if the line before was one: a line of its code may follow
    for line in _COLOURS.sub("", error).splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        code = bool(frame) and len(indent) >= len(frame)
        frame = f"{indent} " if line.lstrip().startswith("File ") else ""
        text = _MARK.sub("", line).strip()
        if not text or code or _PLACE.match(line):
            continue
        _, _, rest = text.partition(": ") if _TYPE.match(text) else ("", "", text)
        if not _ABOUT.match(rest):
            return text
    return ""
