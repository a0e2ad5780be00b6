"""Dumps of TensorFlow's debugger, versions 1 and 2."""
