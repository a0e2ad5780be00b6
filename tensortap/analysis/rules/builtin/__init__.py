"""The rules that come with tensortap, by what they look at, and what several of them need.

Adding one takes a function here and a row in `rules/registry.py`. `learning_rates.py`, `updates.py`,
`unchanged_stretches.py` and `convergence.py` hold no rules, but what rules measure.
"""
