"""The prompt of `tensortap step`: one method a command; lines come from a terminal, a pipe or an option."""

from __future__ import annotations

import cmd
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensortap.core.errors import NotFoundError, SelectionError, TensortapError
from tensortap.core.text import counted, escaped, number_text
from tensortap.replay.proof import results_proof
from tensortap.system.progress_line import progress_line
from tensortap.system.user_dirs import USER_DIRS

from .console import cell, console, plain_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tensortap.replay.protocol import StepperAnswer, TensorFacts
    from tensortap.replay.stepper.session import StepperSession
    from tensortap.replay.stepper.stepper_nodes import StepperNode

_AROUND = 8
_SLOTS = 20
_MOST_LISTED = 60
_HISTORY = "stepper_history"
_HELP = """Moving
  next [N], back [N]        along the nodes in topological order (an empty line repeats the last move)
  to NODE                   to a node or tensor; the end of its name is enough
  out                       to the first node after this scope
  nan [back]                to the next node that creates a NaN or an infinity (constants are expected)
  nonfinite [back]          to the next node that outputs one, created or propagated
  changed [back]            to the next node that the what-if changed; 'changed all' lists them
Looking
  list [TEXT]               nodes around the cursor, or those with TEXT in their name or of that op type
  show [NODE]               inputs and outputs of the node
  value [TENSOR] [0,:,3]    summary and values of a tensor (default: the node's first output)
  compare [TENSOR]          the tensor in all what-ifs, side by side
Changing a tensor and recomputing everything downstream
  set [TENSOR] = EXPR       x is the tensor: clip(x, 0, 6), where(x > 9, 9, x), step(100), step(100, 'run')
  fix [NUMBER]              replaces NaN and infinities (default: by 0)
  clip LOW HIGH, scale FACTOR, cast DTYPE
  put 0,3 VALUE             sets one element
  from STEP [RUN]           takes the value of another recorded step
  undo, redo
What-ifs
  whatif                    lists them       whatif NAME   switches to one, or creates it with these changes
  recorded                  returns to the recorded call
  drop NAME, save           deletes one; saves all beside the run
  quit"""


class StepperShell(cmd.Cmd):
    """Runs commands on a session, and prints their output."""

    def __init__(self, session: StepperSession, source: Path) -> None:
        super().__init__()
        self._session, self._source = session, source
        self._out = console()
        self._moved = "next"
        self._saved = session.what_ifs.as_record()

    def talk(self) -> int:
        """Reads from the terminal until `quit` or end of file."""
        self._greet()
        with _line_history():
            while True:
                try:
                    line = input(self._prompt())
                except EOFError:
                    self._out.print()
                    return 0
                except KeyboardInterrupt:
                    self._out.print()
                    continue
                with _reported(self._out):
                    if self.onecmd(line or self._moved):
                        return 0

    def run_all(self, lines: Iterable[str]) -> int:
        """Runs commands, each echoed, until one fails; returns the exit status."""
        self._greet()
        for line in lines:
            command = line.strip()
            if not command or command.startswith("#"):
                continue
            self._out.print(cell(f"(step) {command}", "bold"))
            try:
                if self.onecmd(command):
                    break
            except TensortapError as error:
                raise type(error)(f"{command[:80]!r} failed: {error.message}", error.hint) from error
        return 0

    def _greet(self) -> None:

        recorded = self._session.answer("")
        self._out.print(proof(recorded))
        count = _non_finite(self._session, recorded)
        self._out.print(cell(count, "dim" if count.startswith("0 ") else "red"))
        self._show()

    def _prompt(self) -> str:
        stepper = self._session.stepper
        what_if = self._session.what_ifs.current
        where = f"{stepper.at + 1}/{len(stepper.nodes)}" + (f" {what_if}" if what_if else "")
        return escaped(f"(step {where}) ")

    def default(self, line: str) -> None:
        raise SelectionError(f"Unknown command {line.split()[0][:40]!r}.", "Type 'help'.")

    def emptyline(self) -> bool:
        return False

    def do_help(self, arg: str) -> None:
        self._out.print(_HELP)

    def do_next(self, arg: str) -> None:
        self._moved = "next"
        self._session.stepper.move(_count(arg))
        self._show()

    def do_back(self, arg: str) -> None:
        self._moved = "back"
        self._session.stepper.move(-_count(arg))
        self._show()

    def do_to(self, arg: str) -> None:
        self._session.stepper.to(arg.strip())
        self._show()

    def do_out(self, arg: str) -> None:
        self._moved = "out"
        self._session.stepper.out()
        self._show()

    def do_nan(self, arg: str) -> None:
        self._moved = f"nan {arg}"
        self._session.stepper.next_origin(self._session.answer().tensors, back=_is_back(arg))
        self._show()

    def do_nonfinite(self, arg: str) -> None:
        self._moved = f"nonfinite {arg}"
        self._session.stepper.next_nonfinite(self._session.answer().tensors, back=_is_back(arg))
        self._show()

    def do_changed(self, arg: str) -> None:
        changed = self._session.changed()
        if arg.strip() == "all":
            wanted = set(changed)
            nodes = [n for n in self._session.stepper.nodes if not wanted.isdisjoint(n.outputs)]
            print_nodes(self._session, nodes[:_MOST_LISTED], self._out)
            self._out.print(f"{counted(len(nodes), 'node')} changed")
            return
        self._moved = f"changed {arg}"
        try:
            self._session.stepper.next_of(changed, back=_is_back(arg))
        except NotFoundError:
            self._out.print(_nothing_further(changed, self._session.stepper.node, _is_back(arg)))
            return
        self._show()

    def do_list(self, arg: str) -> None:
        stepper = self._session.stepper
        if arg.strip():
            found = stepper.find(arg.strip())
            print_nodes(self._session, found[:_MOST_LISTED], self._out)
            self._out.print(f"{counted(len(found), 'node')}")
        else:
            first = max(0, stepper.at - _AROUND)
            print_nodes(self._session, stepper.nodes[first : stepper.at + _AROUND + 1], self._out)

    def do_show(self, arg: str) -> None:
        if arg.strip():
            self._session.stepper.to(arg.strip())
        self._show()

    def do_value(self, arg: str) -> None:
        name, _, selection = arg.strip().partition(" ")
        tensor = self._tensor(name)
        print_values(self._session, tensor, selection.strip() or None, self._out)

    def do_compare(self, arg: str) -> None:
        self._out.print(side_by_side(self._session, self._tensor(arg.strip())))

    def do_set(self, arg: str) -> None:
        name, equals, expression = arg.partition("=")
        if not equals:
            raise SelectionError("Expression missing.", "Use: set = clip(x, 0, 6)")
        self._change(self._tensor(name.strip()), expression.strip())

    def do_fix(self, arg: str) -> None:
        self._change(self._tensor(""), f"where(isfinite(x), x, {arg.strip() or 0})")

    def do_clip(self, arg: str) -> None:
        self._change(self._tensor(""), f"clip(x, {', '.join(_words(arg, 2, 'clip -1 1'))})")

    def do_scale(self, arg: str) -> None:
        self._change(self._tensor(""), f"x * {_words(arg, 1, 'scale 0.5')[0]}")

    def do_cast(self, arg: str) -> None:
        self._change(self._tensor(""), f"cast(x, {_words(arg, 1, 'cast float16')[0]!r})")

    def do_put(self, arg: str) -> None:
        place, value = _words(arg, 2, "put 0,3 1.5")
        self._change(self._tensor(""), f"put(x, {place if place.isdigit() else f'({place})'}, {value})")

    def do_from(self, arg: str) -> None:
        step, _, run = arg.strip().partition(" ")
        self._change(self._tensor(""), f"step({step}, {run.strip()!r})" if run else f"step({step})")

    def do_undo(self, arg: str) -> None:
        change = self._session.what_ifs.undo()
        self._out.print(cell(f"undone: {change.tensor} = {change.expression}"))
        self._print_changes()

    def do_redo(self, arg: str) -> None:
        change = self._session.what_ifs.redo()
        self._out.print(cell(f"{change.tensor} = {change.expression}"))
        self._print_changes()

    def do_whatif(self, arg: str) -> None:
        what_ifs, name = self._session.what_ifs, arg.strip()
        if name and name in what_ifs.names:
            what_ifs.choose(name)
        elif name:
            what_ifs.begin(name)
        print_what_ifs(self._session, self._out)

    def do_recorded(self, arg: str) -> None:
        self._session.what_ifs.choose("")
        self._show()

    def do_drop(self, arg: str) -> None:
        self._session.what_ifs.drop(arg.strip())
        print_what_ifs(self._session, self._out)

    def do_save(self, arg: str) -> None:
        from tensortap.replay.stepper.what_ifs import write_what_ifs

        path = write_what_ifs(self._source, self._session.what_ifs)
        self._saved = self._session.what_ifs.as_record()
        self._out.print(cell(f"saved in {path}"))

    def do_quit(self, arg: str) -> bool:
        if self._saved != self._session.what_ifs.as_record():
            self._out.print(cell("What-ifs were not saved; use 'save' to keep them.", "yellow"))
        return True

    do_q = do_quit
    do_n, do_b, do_l, do_s, do_v = do_next, do_back, do_list, do_show, do_value

    def _tensor(self, name: str) -> str:
        """A tensor of the call: as named, or of the node under the cursor."""
        from tensortap.core.names import tensor_name

        stepper, known = self._session.stepper, self._session.answer("").tensors
        if not name:
            outputs = [each for each in stepper.node.outputs if each in known]
            if not outputs:
                raise SelectionError(f"{stepper.node.name} has no tensor here.", "Go to another node.")
            return outputs[0]
        if name in known:
            return name
        at = stepper.at
        node, slot = stepper.to(name), name.rpartition(":")[2]
        stepper.at = at
        return tensor_name(node.name, int(slot) if slot.isdecimal() else 0)

    def _change(self, tensor: str, expression: str) -> None:
        with progress_line("recomputing downstream tensors"):
            self._session.change(tensor, expression)
        self._out.print(cell(f"{tensor} = {expression}"))
        self._print_changes()

    def _print_changes(self) -> None:
        changed = self._session.changed()
        answer = self._session.answer()
        before = _non_finite(self._session, self._session.answer(""))
        self._out.print(
            f"{counted(len(changed), 'tensor')} changed; "
            f"{_non_finite(self._session, answer)} (recorded: {before})"
        )
        if answer.failed:
            self._out.print(cell(f"The step raises {answer.failed}", "red"))

    def _show(self) -> None:

        print_node(self._session, self._out)


def _non_finite(session: StepperSession, answer: StepperAnswer) -> str:
    from tensortap.replay.stepper.stepper_nodes import nonfinite_origins

    bad = sum(1 for facts in answer.tensors.values() if facts.nan or facts.inf)
    origins = len(nonfinite_origins(session.stepper.nodes, answer.tensors))
    return f"{counted(bad, 'tensor')} with NaN or infinity, from {counted(origins, 'origin')}"


def _nothing_further(changed: Sequence[str], node: StepperNode, back: bool) -> str:
    if not changed:
        return "nothing changed"
    here = " except the output of this node" if not set(changed).isdisjoint(node.outputs) else ""
    return f"no more changes {'before' if back else 'after'} this node{here}"


def _count(text: str) -> int:
    if not text.strip():
        return 1
    if not (text.strip().isascii() and text.strip().isdigit() and len(text.strip()) < 10):
        raise SelectionError(f"{text.strip()[:40]!r} is not a node count.", "Use: next 5")
    return int(text)


def _is_back(text: str) -> bool:
    if text.strip() not in ("", "back"):
        raise SelectionError(f"{text.strip()[:40]!r} is not a direction.", "Use 'back', or no argument.")
    return bool(text.strip())


def _words(text: str, count: int, example: str) -> list[str]:
    words = text.split()
    if len(words) != count:
        raise SelectionError(f"{count} arguments are needed.", f"Use: {example}")
    return words


@contextlib.contextmanager
def _reported(out: object) -> Iterator[None]:
    """At the prompt, errors are sentences, and the next command follows."""
    try:
        yield
    except TensortapError as error:
        console(stderr=True).print(cell(error.message, "red"))
        if error.hint:
            console(stderr=True).print(cell(error.hint))
    except KeyboardInterrupt:
        console(stderr=True).print("stopped")


@contextlib.contextmanager
def _line_history() -> Iterator[None]:
    """Arrow keys recall earlier lines, where the system has readline."""
    try:
        import readline
    except ImportError:
        yield
        return
    path = USER_DIRS.user_state_path / _HISTORY
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_history_length(1000)
    yield
    with contextlib.suppress(OSError):
        readline.write_history_file(path)


def proof(answer: StepperAnswer) -> Any:
    """A line on whether the shown tensors match the recording."""
    found = results_proof(answer)
    colour = "green" if found.proven else "" if answer.identical else "yellow"
    return cell(f"{found.word.lower()}: {found.text}", colour)


def print_node(session: StepperSession, out: Console) -> None:
    """The node under the cursor."""
    stepper = session.stepper
    node = stepper.node
    layer = f"  layer {node.layer}" if node.layer else ""
    out.print(cell(f"{stepper.at + 1}/{len(stepper.nodes)}  {node.name}  {node.op_type}{layer}", "bold"))
    facts, changed = session.answer().tensors, set(session.changed())
    for title, tensors in (("in ", node.inputs), ("out", node.outputs)):
        for name in tensors[:_SLOTS]:
            mark = "*" if name in changed else " "
            text = _facts_text(facts.get(name))
            out.print(cell(f"  {title} {mark} {name}  {text}", _style(facts.get(name))))
        if len(tensors) > _SLOTS:
            out.print(f"  {title}   and {len(tensors) - _SLOTS:,} more")


def print_nodes(session: StepperSession, nodes: Sequence[StepperNode], out: Console) -> None:
    """A table of nodes: > the cursor, * changed by the what-if."""
    facts, changed = session.answer().tensors, set(session.changed())
    rows = {node.name: row for row, node in enumerate(session.stepper.nodes)}
    table = plain_table("", "node", "name", "op type", "output", numeric=("node",))
    for node in nodes:
        first = next((facts[name] for name in node.outputs if name in facts), None)
        here = ">" if node is session.stepper.node else ""
        mark = "*" if not changed.isdisjoint(node.outputs) else ""
        style = _style(first)
        table.add_row(
            f"{here}{mark}",
            str(rows[node.name] + 1),
            cell(node.name, style),
            cell(node.op_type),
            cell(_facts_text(first) if first else "", style),
        )
    out.print(table)


def print_values(session: StepperSession, tensor: str, selection: str | None, out: Console) -> None:
    """Summary, histogram and values of a tensor in the current what-if, at its first visit."""
    from .select_run import only_run
    from .views.tensor import TensorView

    view = TensorView.of(
        only_run(session.run()), tensor, step=None, visit=0, worker=None, graph=None, selection=selection
    )
    view.print(out)


def side_by_side(session: StepperSession, tensor: str) -> Table:
    """One row as recorded and one per what-if: the tensor's numbers, and the number of changed tensors."""
    from tensortap.index.query.tensor_lookup import find_snapshot

    from .select_run import only_run

    numeric = ("NaN", "Inf", "min", "mean", "max", "changed")
    table = plain_table("what-if", "shape", *numeric, numeric=numeric)
    for name in ("", *session.what_ifs.names):
        facts = session.answer(name).tensors.get(tensor)
        if facts is None:
            table.add_row(cell(name or "recorded"), cell("did not run"))
            continue
        summary = find_snapshot(only_run(session.run(name)), tensor, step=session.answer(name).step)
        table.add_row(
            cell(name or "recorded", "bold" if name == session.what_ifs.current else ""),
            cell(f"{facts.dtype} {'×'.join(map(str, facts.shape)) or 'scalar'}"),
            f"{facts.nan:,}",
            f"{facts.inf:,}",
            *(number_text(number, 6) for number in (summary.min, summary.mean, summary.max)),
            f"{len(session.changed(name)):,}" if name else "",
        )
    return table


def print_what_ifs(session: StepperSession, out: Console) -> None:
    """Print the what-ifs, each with its changes; `>` marks the current one."""
    for name in ("", *session.what_ifs.names):
        here = ">" if name == session.what_ifs.current else " "
        out.print(cell(f"{here} {name or 'recorded'}", "bold" if here == ">" else ""))
        for change in session.what_ifs.changes(name):
            out.print(cell(f"    {change.tensor} = {change.expression}"))


def _facts_text(facts: TensorFacts | None) -> str:
    if facts is None:
        return "(not available: it did not run, or it is not a tensor)"
    shape = "×".join(map(str, facts.shape)) or "scalar"
    bad = [f"{facts.nan:,} NaN"] * bool(facts.nan) + [f"{facts.inf:,} Inf"] * bool(facts.inf)
    since = [f"from iteration {facts.bad_visit} on"] * (facts.bad_visit > 0)
    visits = [f"{facts.visits} iterations"] * (facts.visits > 1)
    return "  ".join((f"{facts.dtype} {shape}", *bad, *since, *visits))


def _style(facts: TensorFacts | None) -> str:
    if facts is None:
        return "dim"
    return "red" if facts.nan else "yellow" if facts.inf else ""
