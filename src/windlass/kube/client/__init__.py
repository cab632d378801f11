"""Talking to the API server: typed verbs on any kind, with retries, a fence before each write, and watches.

`Client` is what others use. `transport` sends one request, `retry` says which are sent again, `reading` turns bytes
into objects, `watch` reads a stream of changes, `overlay` keeps what we wrote until a watch has shown it.
"""

from windlass.kube.client.client import Client

__all__ = ["Client"]
