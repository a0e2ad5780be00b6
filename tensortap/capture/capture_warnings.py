"""Warnings about tensors that a tap does not capture: each kind once, recorded in the run, never raised."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tensortap.core.names import short_function_name
from tensortap.core.text import counted, did_you_mean, number_text

from .errors import ChoiceFailedError, TapWarning

if TYPE_CHECKING:  # these packages issue warnings
    from .pipeline.messages import CapturedTensor
    from .tracing.candidate import Candidate
    from .watching.watch import Watch

_log = logging.getLogger("tensortap")

_MAX_FUNCTIONS = 100  # that an event names
RUNS_UNTAPPED = "It runs untapped; training continues."

PutEvent = Callable[[int, str, Mapping[str, Any]], object]


class CaptureWarnings:
    """Warns about uncaptured tensors, and records that in the run.

    Args:
        warnings: issues them.
        put_event: (step, kind, facts) writes an event of the run.
    """

    def __init__(self, warnings: OneTimeWarnings, put_event: PutEvent) -> None:
        self._warnings = warnings
        self._put_event = put_event
        self.step = 0
        """The latest step, at which the next warning is noted."""

    def warn(
        self,
        kind: str,
        message: str,
        hint: str,
        cause: BaseException | None = None,
        functions: Sequence[str] = (),
    ) -> None:
        """Warns, and notes it in the run, unless this kind of warning was issued before.

        Args:
            functions: the functions that are not captured.
        """
        text = self._warnings.warn(kind, message, hint, cause)
        if text:
            facts = {"text": text[:1].upper() + text[1:], "functions": list(functions[:_MAX_FUNCTIONS])}
            self._put_event(self.step, "unseen", facts)

    def function_failed(
        self, function: str, what: str, error: BaseException, outcome: str = "Training continues."
    ) -> None:
        """Warn that the taps of a function failed; the function itself runs.

        Args:
            what: failed, as a predicate of the function.
            outcome: a sentence.
        """
        name = short_function_name(function)
        if isinstance(error, ChoiceFailedError):
            self.warn(
                "choice",
                error.message,
                f"{error.hint} The function {name} runs untapped; training continues.",
                error.__cause__,
            )
            return
        self.warn(
            f"function {name}: {what}",
            f"the function {name} {what}",
            f"{outcome} Try a narrower Watch that excludes the failing part.",
            error,
        )

    def no_shadow(self, function: str, why: str) -> None:
        """A function that must be captured exactly cannot be; it runs untapped."""
        name = short_function_name(function)
        self.warn(
            f"shadow {name}",
            f"the function {name} is not captured, as exact=True cannot run it twice: {why}",
            "It runs untapped. Remove exact=True to capture it in-graph.",
        )

    def compiled(self, function: str, candidates: Sequence[Candidate], why: str) -> None:
        """Selected tensors are inside functions that XLA compiles, and the step cannot have a shadow."""
        functions = sorted({candidate.function for candidate in candidates})
        self.warn(
            f"compiled {function}",
            f"{counted(len(candidates), 'selected tensor')} inside functions that XLA compiles "
            f"({', '.join(functions[:3])}) cannot be captured: in-graph taps would change the last bits "
            f"of the results, and a shadow copy is not possible: {why}",
            "To capture them, set jit_compile=False.",
            functions=functions,
        )

    def draws_already(self, function: str, nodes: Sequence[str]) -> None:
        """A function with its own random streams has already run, so it cannot be tapped."""
        name = short_function_name(function)
        self.warn(
            f"random {name}",
            f"the function {name} is not captured, as its seeded random ops have their own state "
            f"({nodes[0]}) and may already have run, so a copy would draw other numbers",
            "Create the tap and enter its first step before the function is traced, or use a "
            "tf.random.Generator or stateless random ops, as Keras layers do.",
            functions=[name],
        )

    def chosen_too_late(self, function: str, candidates: Sequence[Candidate]) -> None:
        """Tensors of a function that keeps random streams were selected after its first call."""
        name = short_function_name(function)
        self.warn(
            f"random, later {name}",
            f"{counted(len(candidates), 'tensor')} of the function {name} ({candidates[0].node}) "
            "cannot be captured: its seeded random ops have their own state, so its taps are fixed "
            "at its first call",
            "Select these tensors in a Watch(…) from the start; steps= can limit the steps.",
        )

    def dataset_functions(self, function: str, nodes: Sequence[str]) -> None:
        """Nodes of a function run functions of datasets, which are not captured."""
        name = short_function_name(function)
        self.warn(
            f"datasets {name}",
            f"the datasets inside the function {name} are not captured ({nodes[0]})",
            "Create the dataset outside the function, and pass its elements or its iterator.",
        )

    def out_of_reach(self, candidates: Sequence[Candidate]) -> None:
        """Selected tensors are inside loops or branches that XLA compiles."""
        functions = sorted({candidate.function for candidate in candidates})
        self.warn(
            "out of reach",
            f"{counted(len(candidates), 'selected tensor')} cannot be captured inside loops or "
            f"branches that XLA compiles ({', '.join(functions[:3])})",
            "Outputs of the loops can be captured. To see inside, set jit_compile=False.",
            functions=functions,
        )

    def unrecorded(self, what: str, why: str, hint: str) -> None:
        """A call that `record=` selects cannot be recorded; also shown in lists of recordings."""
        text = self._warnings.warn(f"record: {why}", f"Tap(record=…) does not record {what}: {why}", hint)
        if text:
            self.note_unrecorded(text)

    def note_unrecorded(self, text: str) -> None:
        """Records in the run why a selected recording is missing."""
        facts = {"text": text[:1].upper() + text[1:], "functions": [], "about": "record"}
        self._put_event(self.step, "unseen", facts)

    def disturbing(self, candidates: Sequence[Candidate]) -> None:
        """Taps on selected tensors would change the training's last bits."""
        self.warn(
            "disturbing",
            f"{counted(len(candidates), 'selected tensor')} cannot be captured in-graph "
            f"({candidates[0].node}): TensorFlow would sum them in another order, which changes the last "
            "bits of the results",
            "Use Tap(exact=True) to capture them.",
        )

    def _say(self, kind: str, text: str) -> None:
        """A line on stderr and an event of the run, the first time."""
        if self._warnings.is_first(kind, text):
            print_line(f"run {self._warnings.where!r}: {text}")
            self._put_event(self.step, "unseen", {"text": text[:1].upper() + text[1:], "functions": []})

    def visits_skipped(self, tensor: CapturedTensor, visits: int) -> None:
        """A tensor has more visits in a step than are stored. Printed as a line, because it is expected."""
        node = tensor.candidate.node
        self._say(
            "visits",
            f"the node {node} runs more than {visits} times in a step. Its first, last and "
            f"every k-th iteration (at most {visits}), and the first with NaN or Inf, are captured. Use "
            "Watch(visits=None) for all, or Watch(visits=…) to set the limit.",
        )

    def steps_skipped(self, share: float, plain: float, extra: float, roles: bool) -> None:
        """Watched steps are skipped or reduced because of the budget. Printed as a line, because it is not an
        error."""
        some = "some watched steps are skipped"
        if roles:
            some += ", or reduced to losses, gradients, weights and layer outputs,"
        self._say(
            "budget",
            f"{some} to keep the cost below {number_text(100 * share)} %: capture "
            f"adds {1000 * extra:,.1f} ms to a step of {1000 * plain:,.1f} ms. Watch fewer tensors "
            "or raise Tap(budget=…) to capture more.",
        )

    def steps_wait(self, share: float, first: float, plain: float) -> None:
        """Watched steps are skipped because the first captured one took long."""
        self._say(
            "first step",
            f"the first captured step took {first:,.1f} s, because functions are traced and copied, and "
            f"a plain step {1000 * plain:,.1f} ms. Watched steps are skipped for about "
            f"{first / share:,.0f} s of steps, until capture is {number_text(100 * share)} % of the time. "
            "Raise Tap(budget=…) to capture more.",
        )

    def session_parts(self, imported: Sequence[str], calls: Sequence[str]) -> None:
        """Parts of a session's graph that its taps do not reach."""
        if imported:
            self.warn(
                "imported control flow",
                f"{len(imported)} nodes in or after loops and branches are not captured "
                f"({imported[0]}): the graph does not say which loop or branch they belong to",
                "Import a MetaGraph (tf.compat.v1.train.import_meta_graph) instead of a GraphDef, "
                "or build branches as functions (tf.compat.v1.enable_control_flow_v2()).",
            )
        if calls:
            self.warn(
                "functions of a session",
                f"only the results of functions called by {', '.join(calls[:3])} are captured",
                "Use tf.compat.v1.disable_control_flow_v2() to build loops and branches from "
                "single ops, which are captured.",
            )

    def unknown_kinds(self, where: str, watches: Sequence[Watch], known: Sequence[str]) -> None:
        """Watches select kinds of tensors unknown where a step runs."""
        unknown = list(dict.fromkeys(text for watch in watches for text in watch.roles_beyond(known)))
        if unknown:
            self.warn(
                f"kinds {where} {unknown}",
                f"in a {where} kinds={', '.join(map(repr, unknown))} selects nothing: known kinds are "
                f"{', '.join(known)}, and there are no layers",
                "Select other tensors by name: Watch(nodes='loss').",
            )

    def nothing_selected(
        self,
        watches: Sequence[Watch],
        functions: Sequence[str],
        kinds: Sequence[str],
        op_types: Sequence[str],
    ) -> None:
        """The watched steps ran functions, but the watches selected none of their tensors.

        Args:
            kinds, op_types: of the functions' tensors, if known.
        """
        if set(kinds) <= {"input"}:  # nothing that is noted while a function is traced
            known = "Layers and kinds are only known for functions first called after the tap was created"
        else:
            known = f"Known kinds: {', '.join(kinds)}"
        hint = f"{known}; capture with Watch() to list all names."
        absent = [op for watch in watches for op in watch.ops or () if op not in op_types]
        if absent:
            hint = did_you_mean(absent[0], op_types, hint)
        self.warn(
            "nothing",
            f"nothing was captured: {', '.join(map(repr, watches))} selects no tensor in "
            f"{', '.join(functions[:5])}",
            hint,
        )

    def only_eager(self) -> None:
        """A watched step ran ops, but none where they are captured."""
        self.warn(
            "only eager",
            f"step {self.step} ran ops outside functions only, which are not captured",
            "Use `with tap.step(), tap.eager():`, or tap.function around the code of a step.",
        )

    def only_idle(self) -> None:
        """In no watched step an op ran in the thread of the step."""
        self.warn(
            "only idle",
            "nothing was captured: no function or op ran in the threads of the watched steps",
            "Enter tap.step() in the thread that calls the function.",
        )

    def no_step_watched(self, watches: Sequence[Watch], ran: range) -> None:
        """Steps ran, but the watches never were for one of them."""
        self.warn(
            "steps",
            f"nothing was captured: {', '.join(map(repr, watches))} selects none of the steps that "
            f"ran, {ran.start} to {ran.stop - 1}",
            "Use Watch(steps=1) for all steps; steps count from 0.",
        )


class OneTimeWarnings:
    """Warnings of one tap.

    Args:
        where: the run, named in every message.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._issued: dict[str, str] = {}  # texts by kind
        self._lock = threading.Lock()

    def warn(self, kind: str, message: str, hint: str, cause: BaseException | None = None) -> str:
        """Warns, unless this kind of warning was issued before. `message` has no full stop, `hint` has.

        Returns:
            The text; empty if the kind was issued before.
        """
        because = f" ({type(cause).__name__}: {first_line(cause)})" if cause is not None else ""
        text = f"{message}{because}. {hint}"
        if not self.is_first(kind, text):
            return ""
        issue_warning(f"tensortap, run {self.where!r}: {text}")
        return text

    def is_first(self, kind: str, text: str) -> bool:
        """Whether this is the first warning of its kind; records `text`."""
        with self._lock:
            return self._issued.setdefault(kind, text) is text

    def first_issued(self, *kinds: str) -> str:
        """The text of the first warning of these kinds; empty without one."""
        with self._lock:
            return next((self._issued[kind] for kind in kinds if kind in self._issued), "")


def issue_warning(text: str) -> None:
    """Issues a `TapWarning`."""
    try:
        warnings.warn(text, TapWarning, stacklevel=3)
    except Exception:
        # The program turns warnings into errors, shows them its own way, or has closed stderr; this one
        # must not end its training, nor the thread that writes.
        with contextlib.suppress(Exception):
            _log.warning(text)


def print_line(sentence: str) -> None:
    """One line on stderr. The disk that it goes to may be full, too."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stderr
        print(f"tensortap: {sentence}", file=sys.stderr, flush=True)


def message_of(error: BaseException) -> str:
    """An error's message; empty where the program's own class of errors fails to give it."""
    try:
        return str(error)
    except Exception:
        return ""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 300 characters."""
    lines = message_of(error).strip().splitlines()
    return lines[0][:300] if lines else ""
