"""How operations make values that are not finite."""
