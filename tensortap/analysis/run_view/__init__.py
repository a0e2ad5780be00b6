"""What analysis reads of a run, step by step."""
