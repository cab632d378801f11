"""The core, pure: resolves specs, decides on the next requests, reads states, deletes."""
