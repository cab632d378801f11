"""A client of the API server: typed verbs on any kind, with retries, a fence before each write, and watches.

Other packages use `Client`. `transport` sends one request, `retry` decides which are sent again, `reading` turns bytes
into objects, `watch` reads a stream of changes, `overlay` keeps our own writes until a watch has shown them.
"""

from windlass.kube.client.client import Client

__all__ = ["Client"]
