"""The tensors that a tap captures of a call that it records: their hashes go into the recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tensortap.core.errors import InvalidValueError
from tensortap.dump.recording.recording import array_hash

from ..pipeline.messages import CapturedTensor, held_bytes

_MAX_BYTES = 16 << 20  # each takes about 4 ns to hash
_MAX_VISITS = 10_000


class TensorHashes:
    """Holds them until the recording is written, as far as they fit; they are hashed in the writer's thread.

    Args:
        before: by tensor name, the visits that earlier calls of the step made.
    """

    def __init__(self, before: Mapping[str, int]) -> None:
        self._before = before
        self._left = _MAX_BYTES
        self._visits: list[tuple[str, int, np.ndarray[Any, Any]]] = []
        self._left_out: set[str] = set()

    def add(self, tensors: Iterable[CapturedTensor]) -> None:
        """Tensors of the call."""
        for candidate, visit, array, *_ in tensors:
            name = candidate.name
            nbytes = held_bytes(array)
            if nbytes > self._left or len(self._visits) == _MAX_VISITS:
                self._left_out.add(name)
            elif name not in self._left_out:
                self._left -= nbytes
                self._visits.append((name, visit - self._before.get(name, 0), array))

    def by_name(self) -> dict[str, list[str]]:
        """By tensor name, the hash of each visit; empty where the node did not run. A tensor of which a visit
        did not fit is left out."""
        found: dict[str, list[str]] = {}
        for name, visit, array in self._visits:
            if name not in self._left_out:
                hashes = found.setdefault(name, [])
                hashes += [""] * (visit - len(hashes))
                try:
                    hashes.append(array_hash(array))
                except InvalidValueError:  # a dtype that no dump holds
                    hashes.append("")
        return found
