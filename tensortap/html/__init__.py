"""HTML that Python writes: the report of a comparison, representations in notebooks, pages of the server.

Jinja2 renders the templates of `templates/`; all data from a dump are escaped there, without exception. May
import analysis, index and what those may; api, server and cli import its modules. Begin reading in
`environment.py`, then a module and its template side by side.
"""
