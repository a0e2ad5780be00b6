"""All rules: those that come with tensortap, and those that installed packages add."""

from __future__ import annotations

import logging
from importlib.metadata import entry_points

from .builtin.activations import ACTIVATION_RULES
from .builtin.dead_gradients import DEAD_RULES
from .builtin.gradients import GRADIENT_RULES
from .builtin.initialization import poor_weight_init
from .builtin.inputs import INPUT_RULES
from .builtin.losses import LOSS_RULES
from .builtin.numerics import NUMBER_RULES
from .builtin.weights import WEIGHT_RULES
from .rule import Rule

_LOG = logging.getLogger(__name__)
GROUP = "tensortap.rules"

BUILT_IN: tuple[Rule, ...] = (
    *NUMBER_RULES,
    *GRADIENT_RULES,
    *DEAD_RULES,
    *ACTIVATION_RULES,
    poor_weight_init,
    *WEIGHT_RULES,
    *LOSS_RULES,
    *INPUT_RULES,
)


def all_rules() -> list[Rule]:
    """The rules, those of installed packages last.

    A package adds a rule with an entry point of the group `tensortap.rules` that names a `Rule`, or a list of
    them. One that cannot be loaded, or takes a name that is taken, is left out and logged.
    """
    found = {known.name: known for known in BUILT_IN}
    for entry in entry_points(group=GROUP):
        try:
            loaded = entry.load()
        except Exception as error:  # another package's code: whatever it raises must not stop the others
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
