"""What all tests share: a quiet TensorFlow, and property tests that do the same thing on every CI run."""

import os

from hypothesis import settings

# Read when TensorFlow is first imported, here or in a subprocess.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# The first example of a property may compile a kernel, so no deadline holds.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
