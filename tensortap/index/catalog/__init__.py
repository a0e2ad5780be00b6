"""The catalog: what was captured, in columns."""
