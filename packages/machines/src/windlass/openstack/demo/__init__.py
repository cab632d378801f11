"""The demo of OpenStack: a real cloud, the real Cluster API and Machine API, and two of Windlass's processes.

| module | what it holds |
|---|---|
| `story` | the steps; read it as the documentation of what Windlass does |
| `expectations` | the expected results of the steps, about machines, also those that move to the other API |
| `cluster` | about the cluster and its bastion |
| `scene` | a snapshot of the cluster and of the project in OpenStack |
| `stage` | the cloud, the cluster, the Machine API, and both `windlass run` |
| `columns` | cluster, bastion and machines as rows |
| `manifests/` | the cluster and its MachineSets |
"""

from windlass.demo.performance import Demo
from windlass.openstack.demo.columns import COLUMNS
from windlass.openstack.demo.scene import Scene
from windlass.openstack.demo.stage import Stage, prepare
from windlass.openstack.demo.story import STORY

DEMO: Demo[Stage, Scene] = Demo(
    Stage,
    STORY,
    COLUMNS,
    command="windlass demo openstack",
    afterwards=("windlass machines", "windlass openstack tree", "windlass plan openstack", "openstack server list"),
    prepare=prepare,
)
