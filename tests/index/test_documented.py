"""The examples of docs/python.md run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from compacted import compact

from tensortap.core.records import Graph, Node
from tensortap.dump.write.writer import DumpWriter

TEXT = (Path(__file__).parent.parent.parent / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    with DumpWriter(tmp_path / "logs", "baseline") as writer:
        graph = writer.graph(Graph("train", [Node("dense/Relu", "Relu")]))
        for step in range(5):
            value = np.arange(40.0, dtype=np.float32).reshape(2, 20)
            value[0, 0] = np.nan if step == 3 else step
            writer.log("dense/Relu:0", value, step=step, graph=graph)
    compact(tmp_path / "logs/baseline")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(examples) == 10
    names: dict[str, Any] = {}
    try:
        for example in examples:
            exec(example, names)
    finally:
        for name in ("page", "shown"):
            if name in names:
                names[name].close()
    assert capsys.readouterr().out == "dense/Relu:0 3 1\n"
    assert names["worst"] == 0
    assert names["array"].shape == (2, 20)
