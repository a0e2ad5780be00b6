"""What the graph tells of the model: roles, variables, dataflow."""
