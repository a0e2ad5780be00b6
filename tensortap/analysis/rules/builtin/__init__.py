"""The rules that come with tensortap."""
