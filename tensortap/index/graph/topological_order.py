"""Data flow order: every node behind the nodes it takes its inputs from."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from .edges import Edges

Int32s = np.ndarray[Any, np.dtype[np.int32]]


def data_flow_order(count: int, edges: Edges, loops_back: np.ndarray[Any, np.dtype[np.bool_]]) -> Int32s:
    """Position of each node in data flow order. Linear in nodes and edges.

    Args:
        count: number of nodes.
        loops_back: which nodes close a loop (NextIteration): the edges that leave them do not count. Other
            cycles are cut at their first node in the dump's order.
    """
    counted = ~loops_back[edges.source] if len(edges) else np.zeros(0, np.bool_)
    source, target = edges.source[counted], edges.target[counted]
    waiting = np.bincount(target, minlength=count).tolist()
    by_source = np.argsort(source, kind="stable")
    targets = target[by_source].tolist()
    starts = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=count)))).tolist()

    order: list[int] = []
    ready = deque(node for node in range(count) if not waiting[node])
    stuck = iter(range(count))
    placed = bytearray(count)
    while len(order) < count:
        if not ready:
            ready.append(next(node for node in stuck if not placed[node]))
        node = ready.popleft()
        if placed[node]:
            continue
        placed[node] = 1
        order.append(node)
        for follower in targets[starts[node] : starts[node + 1]]:
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    positions = np.empty(count, np.int32)
    positions[order] = np.arange(count, dtype=np.int32)
    return positions
