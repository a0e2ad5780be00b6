"""Exits with 0 while the server in this container answers; asks for the one file that needs no token."""

import os
import sys
import urllib.error
import urllib.request

PORT = os.environ.get("TENSORTAP_PORT", "6016")

try:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/tensortap-page.css", timeout=4) as answer:
        answer.read()
except (OSError, urllib.error.URLError) as error:
    sys.exit(f"tensortap does not answer on port {PORT}: {error}")
