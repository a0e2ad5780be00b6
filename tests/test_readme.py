"""The Python examples of README.md, run in order; its commands and links exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tensortap.api.logdir import open_logdir
from tensortap.cli.main import COMMANDS

CHECKOUT = Path(__file__).parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)

BEFORE = """
import numpy as np, tensorflow as tf
rng = np.random.default_rng(0)
x, y = rng.random((320, 20), "float32"), rng.integers(0, 10, 320)
array = x
batches = [(x[i : i + 32], y[i : i + 32]) for i in range(0, 320, 32)] * 3
loss_of = lambda logits, y: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
optimizer = None
"""
BETWEEN = "optimizer = keras.optimizers.SGD(0.1)\noptimizer.build(model.trainable_variables)\n"


@pytest.mark.slow
def test_the_examples_run(tmp_path: Path) -> None:
    keras_fit, loop, *others = BLOCKS
    code = "\n".join([BEFORE, keras_fit, BETWEEN, loop, *others])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    log = open_logdir(tmp_path / "logs")
    assert set(log.runs) == {"first", "loop", "numpy"}
    assert "net_1/hidden_1/MatMul:0" in log.runs["loop"].tensors


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_explained(command: str) -> None:
    assert f"tensortap {command}" in README
    assert f"## tensortap {command}" in (CHECKOUT / "docs" / "commands.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/commands.md", "docs/server.md"])
def test_links_lead_somewhere(document: str) -> None:
    path = CHECKOUT / document
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target
