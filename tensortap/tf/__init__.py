"""What is taken from TensorFlow that is not public, and tables of its operations."""
