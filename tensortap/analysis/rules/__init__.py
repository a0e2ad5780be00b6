"""Rules: common faults in training, found in statistics and values.

A rule is one function in `builtin` with the decorator `rule` (name, thresholds, source, advice). It becomes
part of the product by one row in `registry.py`. `runner.py` runs the rules, removes duplicates
and sorts findings by cause (`causality.py`); `settings.py` reads thresholds and mutes
from a user's file, `muted_findings.py` stores the findings that the user muted. `forward_sources.py`,
`variable_usage.py` and `unchanged_stretches.py` hold what several rules need. Imports `run_view`, `nonfinite`
and `dead_layers`. Begin with `rule.py`.
"""
