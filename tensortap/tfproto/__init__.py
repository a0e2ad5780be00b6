"""TensorFlow's protocol buffers and record files, read and written without TensorFlow.

What arrives here are messages of any generated class (TensorFlow's or TensorBoard's) or bytes. Imports core
only.
"""
