"""The rules of tensortap, grouped by subject, and their shared helpers.

Adding one takes a function here and a row in `rules/registry.py`. What several rules need is in the package
above: `forward_sources.py`, `variable_usage.py`, `unchanged_stretches.py`.
"""
