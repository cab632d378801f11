"""A model of an OpenStack cloud, at the level of HTTP: what controllers of machines and clusters ask, and how it fails.

    cloud = MemoryCloud(no_answer=lambda service, write, slow: Doubtful(service, "no answer"))
    wire = cloud.wire("project-a")
    answer = await wire.send(request, seconds=30)      # an object with service, method, path, query, body
    cloud.pass_time(2)                                  # servers and load balancers become ACTIVE
    cloud.fault(method="POST", path="/servers$", after=True)

Requests and answers are those of the real services; one table of cases runs against this model and a real cloud.

| module | what it holds |
|---|---|
| `services` | what the services have, what a test lays out, and what time does |
| `compute`, `storage`, `load_balancing` | requests, and the rules that real services keep |
| `network` | the same for Neutron, together with `ports`, `routing` and `groups` |
| `faults` | answers that are lost, late, refused |
| `wire` | the connection of one project |
"""

from windlass.testing.memory_cloud.faults import Fault
from windlass.testing.memory_cloud.services import Services
from windlass.testing.memory_cloud.wire import MemoryCloud, MemoryWire, Reply, Request

__all__ = ["Fault", "MemoryCloud", "MemoryWire", "Reply", "Request", "Services"]
