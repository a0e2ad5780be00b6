"""All rules: those that come with tensortap, and those that installed packages add."""

from __future__ import annotations

import logging
from importlib.metadata import entry_points

from .builtin.activations import dead_relu, high_dropout, saturated_activation
from .builtin.axes import broadcast_loss, mask_sign, softmax_axis
from .builtin.dead_gradients import absorbed_update, dead_gradient, unused_layer
from .builtin.gradients import exploding_gradient, vanishing_gradient
from .builtin.initialization import poor_weight_init
from .builtin.inputs import class_imbalance, input_not_normalized, label_in_input
from .builtin.loss_inputs import loss_input_mismatch, negated_loss, target_out_of_range
from .builtin.losses import large_loss, learning_rate, loss_not_decreasing, overfit
from .builtin.numerics import exploding_tensor, float16_overflow, subnormals
from .builtin.weights import (
    all_zero,
    large_weights,
    shrinking_weights,
    unchanged_tensor,
    weight_update_ratio,
)
from .builtin.workers import missing_worker, replica_drift, slow_worker
from .rule import Rule

_LOG = logging.getLogger(__name__)
GROUP = "tensortap.rules"

# One row per rule, in the order in which they run: later ones skip what earlier ones have explained.
BUILT_IN: tuple[Rule, ...] = (
    missing_worker,
    slow_worker,
    replica_drift,
    loss_input_mismatch,
    softmax_axis,
    mask_sign,
    broadcast_loss,
    target_out_of_range,
    negated_loss,
    label_in_input,
    high_dropout,
    unused_layer,
    exploding_tensor,
    float16_overflow,
    subnormals,
    vanishing_gradient,
    exploding_gradient,
    dead_gradient,
    absorbed_update,
    dead_relu,
    saturated_activation,
    poor_weight_init,
    weight_update_ratio,
    unchanged_tensor,
    all_zero,
    large_weights,
    shrinking_weights,
    loss_not_decreasing,
    large_loss,
    overfit,
    learning_rate,
    input_not_normalized,
    class_imbalance,
)


def all_rules() -> list[Rule]:
    """The rules; those of installed packages come last.

    A package adds a rule with an entry point of the group `tensortap.rules` that names a `Rule`, or a list of
    them. One that cannot be loaded, or takes a name that is taken, is skipped and logged.
    """
    found = {known.name: known for known in BUILT_IN}
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:  # another package's code: its errors must not stop the other rules
            _LOG.warning("the rule %r of %r cannot be loaded: %s", entry.name, entry.value, error)
            continue
        for added in (
            [loaded] if isinstance(loaded, Rule) else loaded if isinstance(loaded, list | tuple) else []
        ):
            if isinstance(added, Rule) and added.name not in found:
                found[added.name] = added
            else:
                _LOG.warning("the entry point %r adds no new rule %r", entry.name, added)
    return list(found.values())
