"""Answers over steps: statistics, histograms, trends and the timeline of tensors, nodes and scopes.

A module is one question that the page, the command line or Python asks of a run: `history` (the rows of
one tensor), `histograms`, `trends`, `timeline` (scopes x steps), `step_statistics`. They share
`statistic_values`. Imports the catalog, the queries and the graphs of a run.
"""
