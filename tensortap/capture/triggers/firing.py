"""Why a step ended otherwise: a trigger that fired, or an error that it raised."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tensortap.core.errors import TensortapError
from tensortap.core.records import Frame, Node
from tensortap.core.text import number_text

from ..capture_warnings import message_of
from .step_summaries import Examined, GraphLookup, StepSummaries
from .triggers import Finding

_MAX_INPUTS = 8

_MARK = re.compile(r"\{\{function_node [^}]*\}\}\s*")
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_PLACE = re.compile(r"^\s*(\[\[|Detected at node|File |Graph execution error)")
_USER_CODE = "in user code:"  # what AutoGraph puts before a message, and then its type
_ABOUT = re.compile(rf"^\s*({_USER_CODE}|Exception encountered when calling |.*Error encountered:$)")  # Keras
_TYPE = re.compile(r"^[A-Z]\w*(Error|Exception|Warning|Interrupt): ")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MAX_MESSAGE = 300  # characters of a message


@dataclass(frozen=True)
class InputState:
    """An input of the node when the trigger fired: numbers of NaN and infinite elements, and the range of the
    others. None if it was not captured."""

    tensor: str
    nan: int | None = None
    inf: int | None = None
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.nan is None or self.inf is None or self.low is None or self.high is None:
            return f"{self.tensor} (not captured)"
        if self.nan or self.inf:
            return f"{self.tensor} ({self.nan:,} NaN, {self.inf:,} infinite)"
        return f"{self.tensor} (from {number_text(self.low)} to {number_text(self.high)})"


@dataclass(frozen=True)
class Firing:
    """One firing of a trigger: when and why.

    Attributes:
        step: the step.
        trigger: how the trigger was given.
        reason: a sentence without a full stop.
        tensor, node, op_type: the tensor that fired; empty if the trigger names none.
        source: the innermost frame of the program that created the node, `(file, line, function)`.
        inputs: the node's inputs as they were.
        first_step: the earliest step that the flight recorder wrote, or None.
    """

    step: int
    trigger: str
    reason: str
    tensor: str = ""
    node: str = ""
    op_type: str = ""
    source: Frame | None = None
    inputs: tuple[InputState, ...] = ()
    first_step: int | None = None

    def sentences(self, run: str) -> str:
        """All of it for people."""
        return " ".join(self._sentences(run))

    def _sentences(self, run: str) -> Iterator[str]:
        yield f"{self.trigger} fired at step {self.step}: {self.reason}."
        if self.node:
            where = (
                f", created in {self.source[0]}:{self.source[1]} ({self.source[2]})" if self.source else ""
            )
            yield f"Its node {self.node} is a {self.op_type}{where}."
        if self.inputs:
            yield f"Its inputs: {', '.join(map(str, self.inputs))}."
        if self.first_step is not None and self.first_step < self.step:
            yield f"Run {run!r} stores the earlier steps from step {self.first_step}."

    def facts(self, graph: str, stops: bool) -> dict[str, Any]:
        """The event for the dump (FORMAT.md, "Events"), without kind and step."""
        inputs = [
            {
                "tensor": each.tensor,
                "nan": each.nan,
                "inf": each.inf,
                "min": _plain(each.low),
                "max": _plain(each.high),
            }
            for each in self.inputs
        ]
        return {
            "trigger": self.trigger[:1000],
            "reason": self.reason[:1000],
            "tensor": self.tensor,
            "node": self.node,
            "op_type": self.op_type,
            "graph": graph,
            "source": list(self.source) if self.source else None,
            "inputs": inputs,
            "first_step": self.first_step,
            "stops": stops,
        }


def _plain(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


class TrainingStoppedError(TensortapError):
    """Raised by a tap with `stop=True` after a trigger fired: `Tap(on=…, stop=True)`.

    Attributes:
        firing: the trigger, step and reason.

    Example:
        ```python
        try:
            model.fit(x, y, callbacks=[tap.callback()])
        except tensortap.TrainingStoppedError as stopped:
            print(stopped.firing.step, stopped.firing.reason)
        ```
    """

    def __init__(self, firing: Firing, run: str, run_dir: str) -> None:
        hint = f"See the dump: tensortap info {run_dir}, or tensortap.open({run_dir!r})."
        super().__init__(firing.sentences(run), hint)
        self.firing = firing


def describe(finding: Finding, step: StepSummaries, trigger: str, first_step: int | None) -> Firing:
    """A firing with all that is known of the node."""
    tensor = finding.tensor
    if tensor is None:
        return Firing(step.step, trigger, finding.reason, first_step=first_step)
    graphs = GraphLookup()
    node = graphs.node(tensor.graph, tensor.candidate.node)
    sources = [] if node is None else graphs.sources(tensor.graph, node)
    if node is not None and tensor.visit:  # the arguments of the first call or iteration are not its input
        sources = [name for name in node.inputs if not name.startswith("^")]
    return Firing(
        step=step.step,
        trigger=trigger,
        reason=finding.reason,
        tensor=tensor.name,
        node=tensor.candidate.node,
        op_type=tensor.candidate.op_type,
        source=_source(tensor, node),
        inputs=tuple(_inputs(sources, step, tensor.visit)),
        first_step=first_step,
    )


def _source(tensor: Examined, node: Node | None) -> Frame | None:
    if node is None or tensor.graph is None or not 0 <= node.stack < len(tensor.graph.stacks):
        return None
    stack: Sequence[Frame] = tensor.graph.stacks[node.stack]
    return stack[-1] if stack else None


def _inputs(names: Sequence[str], step: StepSummaries, visit: int) -> Iterator[InputState]:
    at_visit = {each.name: each for each in step.tensors if each.visit == visit}
    for name in names[:_MAX_INPUTS]:
        seen = at_visit.get(name) or step.tensor(name)
        if seen is None:
            yield InputState(name)
        else:
            yield InputState(name, *seen.nonfinite, seen.summary.min, seen.summary.max)


def has_failed(error: BaseException | None) -> bool:
    """Whether a step ended by an error of the program, not by the end of its data, a trigger, or Ctrl-C."""
    orderly = (StopIteration, tf.errors.OutOfRangeError, TrainingStoppedError)
    return isinstance(error, Exception) and not isinstance(error, orderly)


def failure_facts(error: BaseException) -> dict[str, str]:
    """The facts of the event: `error`, type and message, and `node`, where TensorFlow names one."""
    text = message_of(error)
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
