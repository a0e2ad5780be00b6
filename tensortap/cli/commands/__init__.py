"""The commands, one module each: HELP, EXAMPLE, add_arguments(parser), run(arguments) -> exit status.

A new command is a module here and a row of `tensortap.cli.main.COMMANDS`. Its printing is below `run`, or in
`tensortap.cli.views` if it is long or shared. Heavy imports (index, analysis, replay) are inside functions:
all commands are imported for `--help`.
"""
