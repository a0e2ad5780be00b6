"""Conditions that make a tap keep more."""
