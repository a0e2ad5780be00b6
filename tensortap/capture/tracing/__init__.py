"""The graph of a traced function, its names, layers and source stacks."""
