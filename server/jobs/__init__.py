"""Work that takes longer than a request may: one queue, and its two users, analyses and replays.

Begin with `job_queue.py`. Analyses and replays run in worker processes
(`tensortap.system.subprocess_worker`).
"""
