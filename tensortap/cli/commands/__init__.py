"""The commands, one module each: HELP, EXAMPLE, add_arguments, run."""
