"""The routes of the HTTP API (http_api.md)."""
