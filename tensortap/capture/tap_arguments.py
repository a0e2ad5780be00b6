"""Checks the arguments of a tap when it is created, so that mistakes are reported before training."""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from tensortap.core.errors import RemoteError
from tensortap.core.text import number_text
from tensortap.dump.format.run_files import RANK_BITS, is_rank
from tensortap.dump.write.retention import Retention
from tensortap.storage.uri import (
    is_address,
    is_remote,
    shown_path,
    target_run,
)

from .errors import WatchError
from .watching.step_schedule import is_whole_number
from .watching.watch import Watch

Summarize = Literal["host", "device"]


def run_directory(path: Any) -> Path:
    """The absolute path of a run, or the path that represents its remote address.

    Raises:
        WatchError: it is empty, or no path.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or not os.fspath(path):
        raise WatchError(
            f"Tap({path!r}) does not name a run.", "Pass the directory of the run: Tap('logs/first')."
        )
    try:
        return target_run(path) if is_address(os.fspath(path)) else Path(path).absolute()
    except RemoteError as error:
        raise WatchError(error.message, error.hint) from None


def limits(run_dir: Path, record: Any, keep_last: Any, max_bytes: Any) -> dict[str, Any]:
    """The arguments of `DumpWriter` that limit values; checked here, not by the thread that writes.

    Raises:
        InvalidValueError: they are not valid limits.
        WatchError: a run at an address has none of them, and no recordings (docs/remote.md, "Writing").
    """
    Retention(keep_last, max_bytes)
    if not is_remote(run_dir):
        return {"keep_last": keep_last, "max_bytes": max_bytes}
    asked = {"record": record, "keep_last": keep_last, "max_bytes": max_bytes}
    for name, value in asked.items():
        if value is not None:
            raise WatchError(
                f"{name}= does not work with a remote run, {shown_path(run_dir)}.",
                "Remove it, or write the run to a local disk.",
            )
    return {}


def byte_count(argument: str, value: Any) -> int:
    """A number of bytes.

    Raises:
        WatchError: it is negative, or not an integer.
    """
    if not is_whole_number(value):
        raise WatchError(
            f"{argument}={value!r} is not a number of bytes.",
            f"Use an integer of at least 0, e.g. {argument}=512 << 20 for 512 MiB.",
        )
    return int(value)


def check_choices(when_full: Any, **switches: Any) -> None:
    """Check `when_full` and arguments that are on or off.

    Raises:
        WatchError: it is neither `"wait"` nor `"drop"`, or one is neither True nor False.
    """
    if when_full not in ("wait", "drop"):
        raise WatchError(f"when_full={when_full!r} is unknown.", "Use 'wait' or 'drop'.")
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise WatchError(f"{name}={value!r} is neither True nor False.", f"Use {name}=True or False.")


def seconds(argument: str, value: Any) -> float:
    """A time that something waits.

    Raises:
        WatchError: it is negative, longer than a thread can wait, or no number.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0 <= number <= threading.TIMEOUT_MAX:
        raise WatchError(
            f"{argument}={value!r} is not a valid wait time.",
            f"Use a number of seconds of at least 0, e.g. {argument}=30.",
        )
    return number


def budget_share(value: Any, on: Any) -> float | None:
    """The share of the step time that capture may take; None: any.

    Raises:
        WatchError: it is not between 0 and 1, or there is a trigger, which examines every step.
    """
    if value is None:
        return None
    share = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not 0 < share < 1:
        raise WatchError(
            f"budget={value!r} is not a share of a step's time.",
            "Use a number between 0 and 1, e.g. budget=0.03.",
        )
    if on is not None:
        raise WatchError(
            "budget= cannot be combined with on=: a trigger checks every step.", "Remove one of them."
        )
    return share


def capture_rules(watches: Sequence[Watch], budget: float | None) -> dict[str, Any]:
    """The facts of a run that say what is captured of it, for readers."""
    rules = {"watch": [repr(watch) for watch in watches]}
    if budget is None:
        return rules
    return {
        **rules,
        "budget": f"capture takes at most {number_text(100 * budget)} % of the time of all steps",
    }


def summarizes_on_device(value: Any, **needing_values: Any) -> bool:
    """Whether tensors are summarized where they are computed.

    Raises:
        WatchError: it is neither `"host"` nor `"device"`, or another argument needs the values.
    """
    if value not in get_args(Summarize):
        raise WatchError(f"summarize={value!r} is unknown.", "Use 'host' or 'device'.")
    if value == "host":
        return False
    for name, other in needing_values.items():
        if other is not None:
            raise WatchError(
                f"summarize='device' cannot be combined with {name}=, which needs the values of every step.",
                "Remove one of them.",
            )
    return True


def process_rank(value: Any) -> int | None:
    """The number of this process in a distributed job: the given one, else its launcher's, else None.

    Raises:
        WatchError: it is negative, above a million, or not an integer.
    """
    if value is None:
        return job_rank(os.environ)
    if not is_whole_number(value) or not is_rank(int(value)):
        raise WatchError(
            f"rank={value!r} is not a process number.",
            f"Use an integer of at least 0 and below {1 << RANK_BITS}, or None.",
        )
    return int(value)


# Environment variables with the rank: Horovod, Open MPI, MPICH and Intel MPI, Slurm, torchrun.
_RANK_VARIABLES = ("HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK")


def job_rank(environment: Mapping[str, str]) -> int | None:
    """The number of a process in its job, from `TF_CONFIG` or the launcher's variables; None without any.

    In a `TF_CONFIG` the chief is 0 and workers follow it; parameter servers and evaluators have no number, as
    they hold no replica of the model.
    """
    try:
        config = json.loads(environment.get("TF_CONFIG") or "{}")
        task, cluster = config.get("task") or {}, config.get("cluster") or {}
        kind, index = task.get("type"), int(task.get("index", 0))
        first = {"chief": 0, "master": 0, "worker": len(cluster.get("chief") or cluster.get("master") or ())}
        if kind:
            rank = first[kind] + index if kind in first and index >= 0 else None
            return rank if is_rank(rank) else None
    except (ValueError, TypeError, AttributeError):
        pass  # TensorFlow itself complains of a broken TF_CONFIG, or does not use it
    for name in _RANK_VARIABLES:
        text = environment.get(name, "")
        if re.fullmatch("[0-9]{1,9}", text) and is_rank(int(text)):
            return int(text)
    return None


def run_facts(info: Any) -> dict[str, Any]:
    """The free facts of a run.

    Raises:
        WatchError: it is not an object as JSON has them.
    """
    try:
        if info is None:
            return {}
        if isinstance(info, dict) and all(isinstance(name, str) for name in info):
            json.dumps(info, default=str)
            return dict(info)
    except (TypeError, ValueError, RecursionError):
        pass  # keys inside it that JSON does not have, or an object that holds itself
    shown = repr(info)
    raise WatchError(
        f"info={shown[:80]}{'…' if len(shown) > 80 else ''} is not a JSON object.",
        "Use a dict with names as keys, e.g. info={'lr': 0.1}.",
    )
