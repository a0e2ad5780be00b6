"""Lookups in a run's recorded graphs: nodes, edges, inputs, scopes.

Imports the catalog (which tensors were captured), no run and no queries. Begin with
`graph_index.GraphIndex`, one graph with its nodes as rows.
"""
