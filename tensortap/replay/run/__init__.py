"""Runs a recorded call again; needs TensorFlow, but for the grammar of expressions."""
