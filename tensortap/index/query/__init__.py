"""Finds snapshots by name, step, worker, graph, regular expression or a condition such as `nan > 0`.

`node_detail` and `source_lines` answer for one node;
`search` combines all filters, sorts and pages; `tensor_lookup` says which tensor and snapshot a name means;
`filter_parser` reads a condition, `filter_expressions` evaluates it, `filter_columns` feeds it from the
catalog. Begin with `search.snapshots`.
"""
