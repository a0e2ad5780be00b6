"""Processes, locks and folders of tensortap's own on this machine."""
