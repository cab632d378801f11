"""An Octavia provider that reports success for each request.

The ports of VIPs are Neutron's, which Octavia makes itself. An object whose name contains `windlass:fail` ends in the
provisioning status ERROR; one whose name contains `windlass:slow` is pending for seconds.
"""

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from octavia.api.drivers.driver_agent import driver_updater
from octavia.db import api as database
from octavia.db import repositories
from octavia_lib.api.drivers import exceptions, provider_base
from oslo_log import log as logging

FAIL = "windlass:fail"
SLOW = "windlass:slow"
LOG = logging.getLogger(__name__)

_PLURALS = {
    "loadbalancer": "loadbalancers",
    "listener": "listeners",
    "pool": "pools",
    "member": "members",
    "health_monitor": "healthmonitors",
    "l7policy": "l7policies",
    "l7rule": "l7rules",
}


class Job(NamedTuple):
    """A change to be reported as done."""

    kind: str
    key: str
    deleted: bool = False
    cascade: bool = False
    failed: bool = False


class Provider(provider_base.ProviderDriver):
    """Queues each change; one thread reports it as done `delay` seconds later, `long` if its name asks for it."""

    delay = 0.2
    long = 4.0
    _jobs: "queue.Queue[tuple[float, Job]]" = queue.Queue()
    _lock = threading.Lock()
    _thread: threading.Thread | None = None

    def __init__(self) -> None:
        super().__init__()
        with self._lock:
            if Provider._thread is None:
                Provider._thread = threading.Thread(target=_work, args=(self._jobs,), daemon=True)
                Provider._thread.start()

    def queue(self, kind: str, key: str, changed: Any = None, *, deleted: bool = False, cascade: bool = False) -> None:
        name = getattr(changed, "name", None)
        asks = name if isinstance(name, str) else ""
        delay = self.long if SLOW in asks else self.delay
        self._jobs.put((time.monotonic() + delay, Job(kind, key, deleted, cascade, FAIL in asks)))

    def create_vip_port(self, *_: Any, **__: Any) -> None:
        # Octavia makes it then.
        raise exceptions.NotImplementedError

    def loadbalancer_create(self, loadbalancer: Any) -> None:
        self.queue("loadbalancer", loadbalancer.loadbalancer_id, loadbalancer)

    def loadbalancer_delete(self, loadbalancer: Any, cascade: bool = False) -> None:
        self.queue("loadbalancer", loadbalancer.loadbalancer_id, deleted=True, cascade=cascade)

    def loadbalancer_failover(self, loadbalancer_id: str) -> None:
        self.queue("loadbalancer", loadbalancer_id)

    def loadbalancer_update(self, _: Any, new: Any) -> None:
        self.queue("loadbalancer", new.loadbalancer_id, new)

    def member_batch_update(self, pool_id: str, _: Any) -> None:
        self.queue("pool", pool_id)

    def validate_flavor(self, _: Any) -> None:
        pass

    def validate_availability_zone(self, _: Any) -> None:
        pass

    def get_supported_flavor_metadata(self) -> dict[str, str]:
        return {}

    def get_supported_availability_zone_metadata(self) -> dict[str, str]:
        return {}


def _add_methods(kind: str) -> None:
    key = f"{kind.replace('_', '')}_id"

    def create(self: Provider, new: Any) -> None:
        self.queue(kind, getattr(new, key), new)

    def update(self: Provider, _: Any, new: Any) -> None:
        self.queue(kind, getattr(new, key), new)

    def delete(self: Provider, old: Any) -> None:
        self.queue(kind, getattr(old, key), deleted=True)

    for method in (create, update, delete):
        setattr(Provider, f"{kind}_{method.__name__}", method)


for _kind in _PLURALS:
    if _kind != "loadbalancer":
        _add_methods(_kind)


def _work(jobs: "queue.Queue[tuple[float, Job]]") -> None:
    updater = driver_updater.DriverUpdater()
    tables = repositories.Repositories()
    while True:
        due, job = jobs.get()
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            answer = updater.update_loadbalancer_status(_statuses(tables, job))
        except Exception:
            LOG.exception("%s", job)
        else:
            if answer["status_code"] != 200:
                LOG.error("%s: %s", job, answer)


def _statuses(tables: Any, job: Job) -> dict[str, list[dict[str, str]]]:
    """What Octavia is told of the load balancer and all that belongs to it once `job` is done."""
    session = database.get_session()
    found: dict[str, list[dict[str, str]]] = {}
    with session.begin():
        for kind, part in _tree(_load_balancer(tables, session, job)):
            itself = (kind, part.id) == (job.kind, job.key)
            if (job.deleted and itself) or (job.cascade and kind != "loadbalancer"):
                status = {"provisioning_status": "DELETED"}
            elif itself and job.failed:
                status = {"provisioning_status": "ERROR", "operating_status": "ERROR"}
            elif itself or part.provisioning_status.startswith("PENDING_"):
                status = {"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}
            else:
                continue
            found.setdefault(_PLURALS[kind], []).append({"id": part.id, **status})
    return found


def _load_balancer(tables: Any, session: Any, job: Job) -> Any:
    if job.kind == "loadbalancer":
        return tables.load_balancer.get(session, id=job.key)
    row = getattr(tables, job.kind).get(session, id=job.key)
    match job.kind:
        case "member" | "health_monitor":
            row = row.pool
        case "l7policy":
            row = row.listener
        case "l7rule":
            row = row.l7policy.listener
    return tables.load_balancer.get(session, id=row.load_balancer_id)


def _tree(balancer: Any) -> Iterator[tuple[str, Any]]:
    yield "loadbalancer", balancer
    for pool in balancer.pools:
        yield "pool", pool
        for member in pool.members:
            yield "member", member
        if pool.health_monitor:
            yield "health_monitor", pool.health_monitor
    for listener in balancer.listeners:
        yield "listener", listener
        for policy in listener.l7policies:
            yield "l7policy", policy
            for rule in policy.l7rules:
                yield "l7rule", rule
