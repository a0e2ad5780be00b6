"""Connections of the HTTP server: accepted, counted, ended.

Replaces parts of waitress so that neither many idle connections nor clients that do not read hold others up.
Imports nothing else of the server. Begin with `socket_map.py`.
"""
