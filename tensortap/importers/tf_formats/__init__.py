"""TensorFlow's files: events, checkpoints, SavedModels, graphs."""
