"""The commands, one module each: HELP, EXAMPLE, add_arguments(parser), run(arguments) -> exit status.

A new command is a module here and a row of `tensortap.cli.main.COMMANDS`. Its printing stands below `run`,
or in `tensortap.cli.views` where it is long or shared. Heavy imports (index, analysis, replay) stand inside
functions: all commands are imported for `--help`.
"""
