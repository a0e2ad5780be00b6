"""Which nodes and tensors of two runs correspond.

`graph_pairs.py` pairs graphs, `node_matching.py` their nodes (by hand, name, structure, renamed scope),
`row_alignment.py` the snapshots of matched tensors; `mismatches.py` undoes pairs that turn out to be wrong,
and `program_diff.py` says how two programs differ at a node. Begin with `node_matching.py`.
"""
