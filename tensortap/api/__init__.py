"""The objects that `tensortap.open` returns: `Log`, `Run`, `Tensor`, `Table`; and the page in a notebook.

Objects for people: lazy, live after `refresh()`, with readable reprs, arguments checked with a sentence.
Answers come from `tensortap.index`; `importers` turn foreign files into runs first, `server` serves the
page. Begin with `logdir.open_any`.
"""
