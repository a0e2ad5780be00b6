"""Access control: token, Host and Origin checks, notebook frames (docs/security.md).

`middleware.py` surrounds the whole application and holds the order of the checks; begin there.
Imports `responses` for its refusals, and no routes.
"""
