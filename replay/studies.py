"""What can be found out about a recorded step beyond running it again, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensortap.dump import Recording

from .against import against
from .chosen_nodes import pattern_of
from .drift import drift
from .request import Request

Study = Callable[[Recording, Request], dict[str, Any]]

STUDIES: Mapping[str, Study] = {
    "against": lambda recording, request: against(
        recording, pattern_of(request.nodes or ""), request.options
    ),
    "recast": lambda recording, request: drift(recording, pattern_of(request.nodes or ""), request.options),
}
"""Each gives an object that fits into JSON."""
