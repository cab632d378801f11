"""What holds for all tests."""

from hypothesis import settings

# How long one example takes says something about the machine and nothing about the code.
settings.register_profile("windlass", deadline=None)
settings.load_profile("windlass")
