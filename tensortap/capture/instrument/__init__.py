"""Copies of traced functions with taps in them, and the hook that runs them in place of the originals.

`call_hook` sees every call of a function and chooses; `function_rewrite` adds the taps to a copy without
changing what TensorFlow's optimizer (Grappler) makes of the rest (`liveness`, `grappler_*`); `tap_queues`
carry tensors out of the running function, `tapped_function` runs the copy and empties them. May import
`tracing`, `exact` and `tensortap.tf`. Begin with `call_hook`.
"""
