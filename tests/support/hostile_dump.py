"""A dump made to do harm: every text in it is a weapon against a page, a terminal or a spreadsheet."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tensortap.core.records import Function, Graph, Node
from tensortap.dump.write.writer import DumpWriter

# Names of nodes: what a page might run, load, or put into an object; what a terminal or spreadsheet obeys.
WEAPONS = {
    "script": "<script>window.hacked=1;alert(1)</script>",
    "image": "<img src=x onerror=window.hacked=1>",
    "attribute": "\"'><svg onload=alert(2)>",
    "elsewhere": "<img src=http://evil.example/a.png>",
    "style": "</style><link rel=stylesheet href=//evil.example/b.css>",
    "address": "javascript:alert(3)",
    "protocol": "//evil.example/c",
    "prototype": "__proto__",
    "prototype_path": "__proto__/polluted",
    "constructor": "constructor/prototype/polluted",
    "method": "toString",
    "template": "{{7*7}}${alert(4)}<%= 7 %>",
    "format": "%s%n%x{0.__class__}",
    "markup": "[bold red]marked[/] [link=http://evil.example]x[/link]",
    "right_to_left": "safe\u202egnp.exe\u2066\u200f",
    "invisible": "a\u200b\ufeffb\u00ad",
    "blank": "a\u3164b\u2800c\ufe0fd\U000e0041e\u200df\U000e0100",
    "terminal": "\x1b]0;owned\x07\x1b[31mred\x1b[2J",
    "c1": "\x9b31mred\x9d0;owned\x9c",
    "nul": "before\x00after",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85",
    "noncharacters": "\ufffe\uffff\U0010ffff\ue000",
    "lines": "one\r\ntwo\u2028three",
    "emoji": "👩‍👩‍👧‍👦/🏴‍☠️",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "formula_plus": "+cmd|' /C calc'!A0",
    "formula_minus": "-2+3",
    "formula_at": "@SUM(1,1)",
    "formula_tab": "\t=1+1",
    "path": "../../../../etc/passwd",
    "drive": "C:\\CON\\aux",
    "combining": "Z" + "\u0300" * 300,
    "long": "L" * 4000,
    "deep": "d/" * 400 + "leaf",
}
RUN = "exp<img src=x onerror=alert(5)>\u202eb"
STEPS = 3


def hostile_graph() -> Graph:
    """A chain of nodes with those names, whose other texts are weapons, too."""
    weapons = list(WEAPONS.values())
    nodes = [
        Node(
            name,
            op_type=weapons[i - 3],
            inputs=[f"{weapons[i - 1]}:0"] if i else [],
            attributes={weapons[i - 5]: weapons[i - 4], "__proto__": "polluted", "long": "A" * 100_000},
            device=weapons[i - 6],
            layer=weapons[i - 2],
            stack=0,
            output_dtypes=["float32"],
            output_shapes=[[2, 2]],
        )
        for i, name in enumerate(weapons)
    ]
    script = WEAPONS["script"]
    return Graph(
        WEAPONS["image"],
        nodes,
        functions={WEAPONS["image"]: Function(), "__proto__": Function()},
        stacks=[[(script, 1, WEAPONS["attribute"])], [("__proto__", 1, "constructor")]],
        sources={script: f"{script}\n{WEAPONS['terminal']}\n", "__proto__": "polluted"},
    )


def unchecked() -> AbstractContextManager[object]:
    """A writer that lets any name pass, NUL too, as one that is not ours would."""
    return patch(
        "tensortap.dump.format.row_checks._split_known_name", lambda name: (name.rpartition(":")[0], 0)
    )


def write_hostile_dump(logdir: Path) -> None:
    """One run, three steps; a NaN from the second one on, so that every view has something to say."""
    info = {"__proto__": {"polluted": 1}, "command": WEAPONS["script"], WEAPONS["image"]: WEAPONS["terminal"]}
    info |= {WEAPONS["terminal"]: WEAPONS["right_to_left"], "tensorflow": WEAPONS["c1"]}
    with unchecked(), DumpWriter(logdir, run=RUN, info=info) as writer:
        graph = writer.graph(hostile_graph())
        for step in range(STEPS):
            writer.event(
                "trigger", step=step, trigger=WEAPONS["script"], reason=WEAPONS["image"], stops=False
            )
            writer.event("watch", step=step, rules=[WEAPONS["attribute"]], text=WEAPONS["elsewhere"])
            writer.event("batch", step=step, ids=list(WEAPONS.values()), files=[WEAPONS["path"]], count=1)
            for name in WEAPONS.values():
                value = np.full((2, 2), np.nan if step else 1, np.float32)
                writer.log(f"{name}:0", value, step=step, graph=graph, device=name, keep="value")
            texts = np.array([WEAPONS["formula"], WEAPONS["script"], WEAPONS["terminal"]], object)
            writer.log("texts:0", texts, step=step, graph=graph, keep="value")
