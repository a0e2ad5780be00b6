"""Which elements of a tensor are not finite, and where they come from."""
