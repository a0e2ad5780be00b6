"""Statistics of tensors: kernels, compiled where numba is, and their fallback."""
