"""Parts of requests and answers: parameters, JSON, the columns format, PNG, compression, errors.

Knows nothing of routes or security; imports `tensortap.core` and `tensortap.index`.
Begin with `responses.py`; `error_responses.py` is the one place where failures are reworded for people.
"""
