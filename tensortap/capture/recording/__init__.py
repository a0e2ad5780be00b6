"""Recordings of calls, as they are made and kept."""
