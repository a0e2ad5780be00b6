"""The command line, `tensortap …`: arguments, output and exit status.

A command is one module of `commands` and one row of `main.COMMANDS`; `views` print its results. `select_run`
opens the run that a command is about, `console` prints for people and as JSON. May import everything below
it; commands import lazily, so that `tensortap --help` needs no NumPy. Begin with `main.dispatch`.
"""
