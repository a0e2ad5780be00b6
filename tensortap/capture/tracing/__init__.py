"""Facts of a function from its trace: graph, candidates, layers, roles of tensors, source stacks.

`traced_function` brings it together for a root function, `candidate` is a tensor as a watch sees it,
`layer_tracker` wraps methods of Keras while functions are traced, and notes layers and gradients in
`trace_notes`; `context_stack` holds what is open in a thread or task. Runs no function and captures nothing.
May import `tensortap.tf` and `tensortap.tfproto`. Begin with `traced_function`.
"""
