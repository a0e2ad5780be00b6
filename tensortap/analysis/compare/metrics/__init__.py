"""How far two tensors differ."""
