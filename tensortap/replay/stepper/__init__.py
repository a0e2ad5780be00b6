"""The stepper: a cursor on the nodes of a recording."""
