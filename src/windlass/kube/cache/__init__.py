"""Objects of a kind as the API server has them now: `Cache`.

`reflector` lists and watches, `store` keeps what came as JSON bytes with indexes, and decodes when somebody looks.
"""

from windlass.kube.cache.cache import INACTIVITY, Cache, Followable, Health

__all__ = ["INACTIVITY", "Cache", "Followable", "Health"]
