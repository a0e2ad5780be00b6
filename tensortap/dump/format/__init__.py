"""The layout of a dump's files (FORMAT.md)."""
