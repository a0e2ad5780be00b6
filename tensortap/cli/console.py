"""Output for people (rich, colours on a terminal only) and for programs (JSON)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tensortap.core.text import escaped

_PIPED_WIDTH = 10_000  # names are never cut where a program reads them
_NARROW = 20  # characters that a name has at least, however narrow the terminal is
_LABEL = re.compile(r" *(?:\S+ {2,})?")


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """A closed pipe (`tensortap ls | head`) is not a failure: exits quietly, where rich would exit with
        status 1."""
        raise BrokenPipeError

    def print(self, *objects: Any, **options: Any) -> None:
        """On a terminal long lines are wrapped between words; a longer name stays whole, to be copied."""
        if self.is_terminal and len(objects) == 1 and isinstance(objects[0], str | Text):
            for line in _wrapped(Text(objects[0]) if isinstance(objects[0], str) else objects[0], self):
                super().print(line, **options)
        else:
            super().print(*objects, **options)


def _wrapped(text: Text, out: Console) -> list[Text]:
    """The lines of a text. Long ones are wrapped and indented below the text after the first word."""
    lines = []
    for line in text.split("\n", allow_blank=True):
        if cell_len(line.plain) <= out.width:
            lines.append(line)
            continue
        found = _LABEL.match(line.plain)
        indent = found.end() if found is not None and found.end() <= out.width // 2 else 0
        first, *rest = line.divide(_breaks(line.plain, indent, out.width))
        for part in (first, *(Text.assemble(" " * indent, part) for part in rest)):
            part.rstrip()  # a trailing blank would become a line
            lines.append(part)
    return lines


def _breaks(text: str, indent: int, width: int) -> list[int]:
    """Indentation of the lines after the first, if long words get a separate line."""
    found, column = [], indent
    for word in re.finditer(r"\S+\s*", text[indent:]):
        if column > indent and column + cell_len(word.group().rstrip()) > width:
            found.append(indent + word.start())
            column = indent
        column += cell_len(word.group())
    return found


def console(stderr: bool = False) -> Console:
    """A console without markup in data; as wide as needed where the output is piped."""
    piped = not (sys.stderr if stderr else sys.stdout).isatty()
    return _Console(
        stderr=stderr,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=True,
        width=_PIPED_WIDTH if piped else None,
    )


def plain_table(*columns: str, numeric: tuple[str, ...] = ()) -> Table:
    """A table without lines; `numeric` columns are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        right = column in numeric
        table.add_column(column, justify="right" if right else "left", no_wrap=right, overflow="fold")
    return table


def print_table(
    out: Console, columns: Sequence[str], rows: Sequence[Sequence[Text]], numeric: tuple[str, ...] = ()
) -> None:
    """Prints a plain table of one-line cells without colours.

    Where it fits, rich would take twenty times as long.
    """
    widths = [
        max([cell_len(name), *(cell_len(row[at].plain) for row in rows)]) for at, name in enumerate(columns)
    ]
    if sum(widths) + 2 * len(widths) - 2 > out.width:
        table = plain_table(*columns, numeric=numeric)
        for row in rows:
            table.add_row(*row)
        out.print(table)
        return
    right = [name in numeric for name in columns]
    out.print(Text(_line(columns, widths, right), "bold"))
    for row in rows:
        text = _line([each.plain for each in row], widths, right)
        out.file.write(f"{text}\n")


def print_fitting_columns(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    droppable: Sequence[str],
    numeric: tuple[str, ...] = (),
    out: Console | None = None,
) -> None:
    """Prints a table without the columns that do not fit the terminal, and lists these.

    Args:
        droppable: columns that may be dropped, the least important first.
    """
    out = out or console()
    cells = [dict(zip(columns, row, strict=True)) for row in rows]
    shown = fitting_columns(columns, cells, out.width, droppable)
    table = plain_table(*shown, numeric=numeric)
    for column in table.columns[1:]:
        column.no_wrap = True  # if anything is folded, it is the name
    for row in cells:
        table.add_row(*(row[name] for name in shown))
    out.print(table)
    hidden = [name for name in columns if name not in shown]
    if hidden:
        text = f"hidden columns: {', '.join(hidden)} (widen the terminal, or use --json)"
        console(stderr=True).print(text, style="dim")


def fitting_columns(
    columns: Sequence[str], cells: Sequence[Mapping[str, Text]], width: int, droppable: Sequence[str]
) -> list[str]:
    """The columns for a terminal of `width` characters; a long name in the first one gets half of it."""
    needed = {name: max([len(name), *(cell_len(row[name].plain) for row in cells)]) + 2 for name in columns}
    needed[columns[0]] = min(needed[columns[0]], max(width // 2, _NARROW))
    shown = list(columns)
    for name in droppable:
        if sum(needed[each] for each in shown) <= width:
            break
        shown.remove(name)
    return shown


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    blanks = [" " * (width - cell_len(text)) for text, width in zip(texts, widths, strict=True)]
    sides = zip(texts, blanks, right, strict=True)
    return "  ".join(blank + text if is_right else text + blank for text, blank, is_right in sides).rstrip()


def cell(text: object, style: str = "") -> Text:
    """A cell with `text`, escaped."""
    return Text(escaped(str(text)), style=style)


def print_json(data: Any) -> None:
    """Valid JSON on stdout: non-finite numbers are strings, as in the HTTP API."""
    from tensortap.server.responses.json_encoding import plain

    sys.stdout.write(json.dumps(plain(data), indent=2, allow_nan=False) + "\n")
