"""Commands that write a run, or a part of it, as a file for others.

`export.py` writes a `.tap.zip` and other formats, `story.py` a page without a server, `bundle.py` a recorded
step. `tensortap/cli/main.py` lists them.
"""
