"""Where something of a recording lies on this machine."""

from __future__ import annotations

import re

import tensorflow as tf

_DEVICE = re.compile(r"device:(\w+:\d+)$", re.IGNORECASE)
_OTHERWISE = "/device:CPU:0"


def device_here(name: str) -> str:
    """The device of this process that stands for a recorded one, whose job and task are another process's.

    Args:
        name: `/job:worker/replica:0/task:1/device:GPU:0`, or empty.

    Returns:
        `/device:GPU:0`, or the CPU where there is no such device; empty if the name is.
    """
    if not name:
        return ""
    found = _DEVICE.search(name)
    here = f"/device:{found.group(1).upper()}" if found else ""
    return here if any(each.name == here for each in tf.config.list_logical_devices()) else _OTHERWISE
