"""Sentences on whether a replay matches the recording, for command line, stepper and page."""

from __future__ import annotations

from typing import NamedTuple

from tensortap.core.text import counted

from .protocol import ResultComparison

NOT_CAPTURED = "not captured in the recorded step"
_SHOWN_NAMES = 3


class Verification(NamedTuple):
    """Whether something is proven to be as recorded, a word for that, and why, without a full stop."""

    proven: bool
    word: str
    text: str

    def to_json(self) -> dict[str, object]:
        """As clients of the server get it (server/http_api.md)."""
        return self._asdict()


def _proven(text: str) -> Verification:
    return Verification(True, "Verified", text)


def _recomputed(text: str, proven: bool = False) -> Verification:
    return Verification(proven, "Recomputed", text)


def _different(text: str) -> Verification:
    return Verification(False, "Not bit-identical", text)


def results_proof(results: ResultComparison) -> Verification:
    """Verification of the step's outputs and variables."""
    compared = results_text(results)
    versions = f" ({'; '.join(results.versions)})" if results.versions else ""
    if results.identical and not compared:
        return _recomputed("the step has no outputs or variables to compare")
    if results.identical:
        verb = "is" if results.outputs + results.variables == 1 else "are"
        return _proven(f"{compared} {verb} bit-identical to the recorded step")
    if not results.differing:
        raised, before = results.failed or "nothing", results.recorded_failure or "nothing"
        return _different(f"the step raises {raised}, but the recorded step raised {before}{versions}")
    names = ", ".join(results.differing[:_SHOWN_NAMES])
    ulp = results.largest_ulp
    farthest = "" if ulp is None else f", by up to {ulp:,} ULP of their largest values"
    why = "" if results.untapped is None else f". {untapped_text(results.untapped)}".removesuffix(".")
    return _different(f"of {compared}, {len(results.differing):,} differ: {names}{farthest}{versions}{why}")


def tensor_proof(proven: bool | None, results: ResultComparison) -> Verification:
    """Verification of one tensor.

    Args:
        proven: whether each visit that was captured has come out again, by its hash; None: none was captured.
        results: of the same step.
    """
    if proven is None:
        whole = results_proof(results)
        return _recomputed(f"{NOT_CAPTURED}; {whole.text}", whole.proven)
    if proven:
        return _proven("bit-identical to the tensor captured in the recorded step (SHA-256)")
    return _different("not bit-identical to the tensor captured in the recorded step")


def proofs_json(results: ResultComparison) -> dict[str, object] | None:
    """All that a page may say of a replay without changes: of the step, and of a tensor by its `proven`."""
    if results.identical is None:
        return None
    of_tensor = (("true", True), ("false", False), ("null", None))
    return {
        "step": results_proof(results).to_json(),
        "tensor": {name: tensor_proof(proven, results).to_json() for name, proven in of_tensor},
    }


def results_text(results: ResultComparison) -> str:
    """How many were compared, of outputs, variables or both; empty if there are neither."""
    counts = ((results.outputs, "output"), (results.variables, "variable"))
    return " and ".join(counted(number, noun) for number, noun in counts if number)


def distance_text(ulp: int | None) -> str:
    """How far a result is from the recorded one; empty where that is unknown."""
    if ulp is None:
        return ""
    return f", by up to {ulp:,} ULP of its largest value" if ulp else ", in signs of 0 or payloads of NaN"


def untapped_text(as_recorded: bool) -> str:
    """Why results differ with taps. `as_recorded`: whether none differs without taps."""
    if as_recorded:
        return (
            "The taps cause this: without them, all results are bit-identical. TensorFlow fuses "
            "nodes whose tensors are not read, and fused nodes may round differently."
        )
    return "Results also differ without taps."
