"""Settings for all tests."""

from hypothesis import settings

settings.register_profile("streamnb", deadline=None)  # the first example may compile kernels
settings.load_profile("streamnb")
