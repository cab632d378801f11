"""A `Cache` keeps an up-to-date local copy of all objects of a kind.

`reflector` lists and watches, `store` keeps the objects as JSON bytes with indexes and decodes them on demand, and
`health` describes the state of a cache.
"""

from windlass.kube.cache.cache import INACTIVITY, Cache, Followable
from windlass.kube.cache.health import Health

__all__ = ["INACTIVITY", "Cache", "Followable", "Health"]
