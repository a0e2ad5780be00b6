"""Capture that cannot change the training: a call is run twice, on copies of its state.

`shadow` runs the tapped copy of a function before the unchanged one, for `Tap(exact=True)`, on copies of its
variables. `drawing_shadow` runs it after a step with stateful random ops, whose numbers `random_draws` turns
into arguments of the copy. `iterator_copy` copies iterators for both. `variable_snapshot` undoes a call whose
taps failed, `side_effects` says what of a call cannot be undone or run twice. Begin with `shadow`.
"""
