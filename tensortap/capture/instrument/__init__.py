"""Copies of traced functions with taps in them, which the call hook (`capture.call_hook`) runs instead.

`function_rewrite` adds the taps to a copy without changing how TensorFlow's optimizer (Grappler) treats the
rest (`liveness`, `grappler_*`); `tap_queues` carry tensors out of the running function, `tapped_function`
runs the copy and empties them, `receivers` take what comes. May import `tracing`, `exact` and `tensortap.tf`.
Begin with `tapped_function`.
"""
