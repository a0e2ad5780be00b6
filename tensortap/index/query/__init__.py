"""Filters, searches and their order."""
