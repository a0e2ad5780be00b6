"""Forms of answers, and parameters of requests."""
