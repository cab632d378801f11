"""The core, pure: what a server needs, what to ask for next, what its state means, and how it goes."""
