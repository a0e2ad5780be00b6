"""Values kept in part: read, shown and served as what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tensortap
from tensortap.__main__ import main
from tensortap.core.sampling import Sample
from tensortap.dump.write.writer import DumpWriter
from tensortap.server.app import create_app


def test_a_sample_is_read_shown_and_served_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = np.arange(6000, dtype=np.float32).reshape(60, 100)
    with DumpWriter(tmp_path, "r") as writer:
        writer.log("big", array, step=0, sample=Sample(12))
        writer.log("whole", array, step=0)

    tensor = tensortap.open(tmp_path).runs["r"].tensor("big:0")
    assert (tensor.shape, tensor.size, tensor.sample) == ((60, 100), 6000, Sample(12))
    assert tensor.numpy().tolist() == list(range(0, 6000, 500))
    assert tensor[2:4].tolist() == [1000, 1500]
    assert tensortap.open(tmp_path).runs["r"].tensor("whole:0").sample is None

    assert main(["show", str(tmp_path / "r"), "big:0"]) == 0
    assert "sampled values: 12 of 6,000 elements" in capsys.readouterr().out

    client = create_app(tmp_path).test_client()
    run = client.get("/api/runs").get_json()["runs"][0]["id"]
    answer = client.get(f"/api/runs/{run}/value?tensor=big:0&step=0&format=json&selection=:3").get_json()
    assert (answer["shape"], answer["full_shape"], answer["data"]) == ([3], [60, 100], [0, 500, 1000])
