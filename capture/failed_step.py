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
_MOST = 300  # characters of a message


def has_failed(error: BaseException | None) -> bool:
    """Whether a step ended by an error of the program, not by the end of its data, a trigger, or Ctrl-C."""
    return isinstance(error, Exception) and not isinstance(error, ENDS)


def failure_facts(error: BaseException) -> dict[str, str]:
    """The facts of the event: `error`, type and message, and `node`, where TensorFlow names one."""
    text = str(error)
    lines = (_MARK.sub("", line).strip() for line in text.splitlines() if not _PLACE.match(line))
    message = next(filter(None, lines), "")[:_MOST]
    facts = {"error": type(error).__name__ + (f": {message}" if message else "")}
    nodes = _NODE.findall(text)
    return facts | ({"node": nodes[-1]} if nodes else {})
