"""TensorFlow's protocol buffers, read without TensorFlow."""
