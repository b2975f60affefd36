"""Settings for all tests."""

import signal

from hypothesis import settings

settings.register_profile("streamnb", deadline=None)  # the first example may compile kernels
settings.load_profile("streamnb")

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are started without it
