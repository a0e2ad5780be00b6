"""Exits with 0 while the server on the port given answers; asks for the one file that needs no token."""

import sys
import urllib.error
import urllib.request

port = sys.argv[1]
try:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/tensortap-page.css", timeout=4) as answer:
        answer.read()
except (OSError, urllib.error.URLError) as error:
    sys.exit(f"tensortap does not answer on port {port}: {error}")
