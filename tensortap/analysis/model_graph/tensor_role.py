"""What a captured tensor is to the model."""

from __future__ import annotations

from dataclasses import dataclass

_STATISTICS = ("moving_mean", "moving_variance")
_UNTRAINED = ("bias", "beta", "gamma", *_STATISTICS)


@dataclass(frozen=True, slots=True)
class TensorRole:
    """A captured tensor. `kind`: `input`, `output`, `weight`, `gradient`, `loss` or empty; `variable`: path
    of the variable that is read, or that a gradient belongs to; `order`: place in the data flow of its graph;
    `row`: row of its node in the graph, -1 if unknown; `backward`: a node of the backward pass."""

    code: int
    name: str
    node: str
    slot: int
    graph: str
    row: int
    op_type: str
    layer: str
    kind: str
    variable: str
    order: int
    backward: bool

    @property
    def is_kernel(self) -> bool:
        """Whether the variable is a matrix or filter rather than a bias, scale or statistic."""
        return not self.variable.rpartition("/")[2].startswith(_UNTRAINED)

    @property
    def is_statistic(self) -> bool:
        """Whether it is a moving mean or variance: batch normalization sets them, no gradient does."""
        return self.variable.rpartition("/")[2].startswith(_STATISTICS)
