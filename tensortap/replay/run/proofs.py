"""Whether tensors that are computed again are those that were captured in the recorded call, by hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensortap.dump.recording.model import Recording


class Proofs:
    """Compares visits of tensors with the hashes that a recording has of them."""

    def __init__(self, recording: Recording) -> None:
        self._recorded = recording.tensor_hashes
        self._found: dict[str, list[bool]] = {}

    def add(self, tensor: str, visit: int, digest: str) -> None:
        """A visit that was computed again; `digest`: its `array_hash`."""
        recorded = self._recorded.get(tensor, ())
        if visit < len(recorded) and recorded[visit]:
            self._found.setdefault(tensor, []).append(recorded[visit] == digest)

    def of(self, tensor: str) -> bool | None:
        """Whether each visit that was captured has come out again, bit by bit; None: none was captured."""
        if not _captured(self._recorded.get(tensor, ())):
            return None
        found = self._found.get(tensor, [])
        return all(found) and len(found) == _captured(self._recorded[tensor])

    def all(self) -> Mapping[str, bool]:
        """Of the tensors that were computed again and had been captured."""
        return {tensor: bool(self.of(tensor)) for tensor in self._found}


def _captured(hashes: Sequence[str]) -> int:
    return sum(map(bool, hashes))
