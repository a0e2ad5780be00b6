"""From a captured tensor to the dump: the writer's thread and its messages."""
