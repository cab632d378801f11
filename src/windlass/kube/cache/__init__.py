"""Objects of a kind as the API server has them now: `Cache`.

`reflector` lists and watches, `store` keeps what came as JSON bytes with indexes, and decodes when somebody looks;
`health` says how it is doing.
"""

from windlass.kube.cache.cache import INACTIVITY, Cache, Followable
from windlass.kube.cache.health import Health

__all__ = ["INACTIVITY", "Cache", "Followable", "Health"]
