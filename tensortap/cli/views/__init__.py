"""Printers that several commands share, or that are too long for a command's module.

One module a subject: `tensor`, `snapshots`, `rules`, `diff`, `replay` and `replay_analyses`.
A view takes what index, analysis or replay returned, and a `rich` console; `--json` prints the same data
without it. Sentences about findings come from the analyses.
"""
