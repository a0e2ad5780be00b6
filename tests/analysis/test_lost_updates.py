"""Updates that are rounded away: of how many pairs of steps the share is, and since when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from synthetic_runs import GRADIENT, TRAINING, findings_of, synthetic_run

from tensortap.analysis.dead_layers.ledger import LedgerEntry, dead_layer_ledger
from tensortap.index.run_index import RunIndex

ONES = np.ones(4, np.float32)


def trained(folder: Path, steps: int, first: int = 0) -> RunIndex:
    """A run of a weight whose elements move at every third step, in turn; values are kept of `steps`, from
    one on."""
    fed = [("w", np.float32((step + np.arange(4)) // 3), step) for step in range(first, first + steps)]
    fed += [(GRADIENT.name, ONES, step) for step in range(first, first + steps)]
    return synthetic_run(folder, TRAINING, fed, keep="value")


def entry_of(run: RunIndex) -> LedgerEntry:
    return next(entry for entry in dead_layer_ledger(run) if entry.variable == "dense/kernel")


def test_of_a_short_run_all_pairs_of_steps_are_compared(tmp_path: Path) -> None:
    entry = entry_of(trained(tmp_path, 13))
    assert (entry.absorbed, entry.absorbed_steps, entry.absorbed_of) == (8 / 12, 12, 12)
    assert entry.absorbed_at == tuple(range(12))


def test_of_a_long_run_some_are_chosen_evenly_and_the_ledger_and_the_finding_say_so(tmp_path: Path) -> None:
    run = trained(tmp_path, 100, first=50)
    entry = entry_of(run)
    assert (entry.absorbed_steps, entry.absorbed_of) == (32, 99)
    assert entry.absorbed == pytest.approx(2 / 3, abs=0.1)
    assert entry.absorbed_at[0] < 56 and entry.absorbed_at[-1] > 143
    (finding,) = findings_of("AbsorbedUpdate", run)
    lost = len(entry.absorbed_at)
    assert (finding.first_step, finding.steps, finding.of) == (entry.absorbed_at[0], lost, 32)
    assert finding.looked_at == "pairs of steps with stored values, sampled evenly from 99"


def test_the_finding_counts_the_pairs_at_which_updates_were_lost(tmp_path: Path) -> None:
    (finding,) = findings_of("AbsorbedUpdate", trained(tmp_path, 13))
    assert (finding.first_step, finding.last_step, finding.steps, finding.of) == (0, 11, 12, 12)
    assert finding.looked_at == "pairs of steps with stored values"


def test_steps_between_which_gradients_are_accumulated_lose_no_update(tmp_path: Path) -> None:
    fed = [("w", ONES * (step // 4), step) for step in range(13)]
    fed += [(GRADIENT.name, ONES, step) for step in range(13)]
    run = synthetic_run(tmp_path, TRAINING, fed, keep="value")
    assert entry_of(run).absorbed == 0
    assert not findings_of("AbsorbedUpdate", run)


def test_updates_that_loss_scaling_skips_are_not_lost_to_rounding(tmp_path: Path) -> None:
    overflow = np.array([1, 1, np.inf, 1], np.float32)
    fed = [("w", ONES, step) for step in range(10)]
    fed += [(GRADIENT.name, overflow, step) for step in range(10)]
    run = synthetic_run(tmp_path, TRAINING, fed, keep="value")
    assert entry_of(run).absorbed is None
    assert not findings_of("AbsorbedUpdate", run)
