"""One Flask blueprint per noun of the HTTP API (http_api.md), named after its address.

A view reads its parameters (`responses.parameters`), asks the index or an analysis, and answers with
`responses.responses`. Views do not catch errors: `responses.error_responses` rewords them.
May import everything of the server but `app` and `serve`. Begin with `values.py`.
"""
