"""Plans of Machine sync for `windlass plan`: which controllers run on this cluster, and which objects they read.

    standing = await standing_of(survey)                     # which platform, and whether anything runs at all
    deciding = deciders(survey, platform=standing.platform, namespaces=Namespaces())

| module | holds |
|---|---|
| `deciders` | the controllers that make the plans, their keys, and the objects that they read |
| `standing` | platform and feature gate |
| `planner` | both, for `windlass.capability.planning` |
"""

from windlass.machine_sync.planning.deciders import deciders
from windlass.machine_sync.planning.planner import planner
from windlass.machine_sync.planning.standing import NoPlatform, Standing, standing_of

__all__ = ["NoPlatform", "Standing", "deciders", "planner", "standing_of"]
