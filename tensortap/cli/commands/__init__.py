"""The commands, one module each: HELP, EXAMPLE, add_arguments(parser), run(arguments) -> exit status.

A new command is a module here and a row of `tensortap.cli.main.COMMANDS`. What it prints is in
`tensortap.cli.views`. Heavy imports (index, analysis, replay) stand inside of functions: all commands are
imported for `--help`.
"""
