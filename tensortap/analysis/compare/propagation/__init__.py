"""How a difference goes through a graph."""
