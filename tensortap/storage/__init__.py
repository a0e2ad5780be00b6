"""Files and folders: on this machine, at addresses (`s3://…`, `https://…`), in archives.

`filesystem.py` is the one entry point for reading: it takes a path to any of them. `uri.py` gives addresses
their paths, `links.py` keeps links from leading out of a log directory, `files.py` writes to this machine's
disk. Imports core only; fsspec and aiohttp where an address needs them.
"""
