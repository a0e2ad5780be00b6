"""Lookups in a run's recorded graphs: nodes, edges, inputs, scopes, source lines.

Imports the catalog (which tensors were captured) and a run, no queries. Begin with
`graph_index.GraphIndex`, one graph with its nodes as rows; `node_detail` tells all of one node.
"""
