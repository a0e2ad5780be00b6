"""Which nodes and tensors of two runs correspond.

`graph_pairs.py` pairs graphs, `node_matching.py` their nodes (manually, or by name, structure or scope),
`row_alignment.py` the snapshots of matched tensors; `flow_graph.py` is the graph of matched pairs, and
`program_diff.py` says how two programs differ at a node. Begin with `node_matching.py`.
"""
