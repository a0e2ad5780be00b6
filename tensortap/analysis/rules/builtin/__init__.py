"""The rules that come with tensortap, by what they look at, and what several of them need.

Adding one takes a function here and a row in `rules/registry.py`. `kernels.py`, `updates.py` and
`unchanged_stretches.py` hold no rules, but what rules measure.
"""
