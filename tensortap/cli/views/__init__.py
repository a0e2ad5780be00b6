"""What the commands print for people, one module a subject: tensors, runs, findings, replays.

A view takes what index, analysis or replay returned, and a `rich` console; `--json` prints the same data
without it. Sentences about findings come from the analyses.
"""
