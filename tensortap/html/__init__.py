"""HTML that Python writes: the report of a comparison, representations in notebooks, pages of the server.

Jinja2 renders the templates of `templates/`; whatever comes from a dump is escaped there, without exception.
May import analysis, index and what those may; api, server and cli import its modules. Begin reading in
`environment.py`, then a module and its template side by side.
"""
