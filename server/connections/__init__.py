"""Connections: accepted, counted, ended."""
