"""Reads a cluster, with the requests that `oc adm upgrade status` makes and in their order.

`oc` ends when any of them is refused. Here only the ClusterVersion and the ClusterOperators must be readable; of
everything else the report says what is missing, and why. No answer at all from the API server is always an error.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from msgspec import structs

from windlass.api.apps import Deployment
from windlass.api.config import ClusterOperator, ClusterVersion, Infrastructure
from windlass.api.core import Node
from windlass.api.machineconfiguration import MachineConfig, MachineConfigNode, MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild
from windlass.api.meta import K
from windlass.api.route import Route
from windlass.api.update_record import UpdateRecord
from windlass.kube.errors import ApiError, DecodeError, Failure, NotFound, NotServed
from windlass.kube.verbs import ReadApi
from windlass.update_status.assessment import Problem, assess
from windlass.update_status.causes.drains import long_drains
from windlass.update_status.constants import (
    CLUSTER_VERSION,
    MCO_DEPLOYMENT,
    MCO_NAMESPACE,
    MONITORING_NAMESPACE,
    THANOS_QUERIER,
)
from windlass.update_status.reading import HOSTED, NO_CLUSTER_VERSION, Reading
from windlass.update_status.reading.alerts import read_alerts
from windlass.update_status.reading.building import Read, configs_of, image_of, sources_of
from windlass.update_status.reading.objects import check_times
from windlass.update_status.reading.workload import Ask, read_workload
from windlass.update_status.record import Record, record_of
from windlass.update_status.sources import Alert, Known, Unknown
from windlass.update_status.times import Moment, of_datetime

if TYPE_CHECKING:
    from windlass.kube.client import Client

T = TypeVar("T")

AskAlerts = Callable[[str], Awaitable[bytes]]
"""Asks the service of alerts at a host. Raises Failure."""

UNABLE = "Unable to fetch alerts, ignoring alerts in 'Update Health':  "
"""The beginning of the line that `oc` prints."""

_REFUSALS = (ApiError, DecodeError)


async def read_live(
    api: ReadApi, *, metadata: ReadApi, alerts: AskAlerts, clock: Callable[[], Moment], steps: bool = False
) -> Reading:
    """The sources as they are now. Raises Problem, and KubeErrors that concern everything.

    `metadata` reads the metadata of objects only. `steps`: read what `oc` does not: MachineConfigNodes, builds of OS
    images, the records of updates, and what holds nodes that drain for long.
    """
    sources = sources_of(
        await _cluster_version(api),
        Read(await _all(api, ClusterOperator)),
        pools=Read(await _pools(api)),
        nodes=(nodes := Read(await _known(_all(api, Node)))),
        configs=await _configs(metadata, nodes.objects),
        image=await _operator_image(api),
        steps=await _optional(api, MachineConfigNode, "steps of nodes") if steps else Read(),
        builds=await _optional(api, MachineOSBuild, "builds of OS images") if steps else Read(),
        records=await _records(api) if steps else (),
    )
    now = clock()
    report = assess(sources, now=now)
    if report.updating_by_oc:
        found, trouble = await _alerts(api, alerts)
        sources = structs.replace(sources, alerts=found, alerts_trouble=trouble)
    if steps and report.updating:
        sources = structs.replace(sources, workload=await read_workload(_selected(api), long_drains(report, now=now)))
    return Reading(sources=sources, now=now, wall=now)


async def read_cluster(client: "Client", *, patience: float, steps: bool = False) -> Reading:
    """The same with the rights of a client, at the present of its API server's clock. `patience`: for the
    answer of the service of alerts, in seconds."""
    from windlass.update_status.reading.thanos import AlertsService

    service = AlertsService(client.config, timeout=patience)
    clock = server_moments(client)
    return await read_live(client, metadata=client.metadata, alerts=service.alerts, clock=clock, steps=steps)


def server_moments(client: "Client") -> Callable[[], Moment]:
    """The present by the API server's clock: that of this computer may be wrong."""
    return lambda: of_datetime(client.server_clock.now())


async def _cluster_version(api: ReadApi) -> ClusterVersion:
    try:
        found = (await api.get(ClusterVersion, CLUSTER_VERSION)).decode()
    except (NotFound, NotServed):
        raise Problem(NO_CLUSTER_VERSION) from None
    check_times(found, source="cluster")
    return found


async def _all(api: ReadApi, kind: type[K]) -> tuple[K, ...]:
    try:
        listed = await api.list(kind)
    except NotServed:
        # Without the kind there are none, and it is the report that says what that means.
        if kind is not ClusterOperator:
            raise
        return ()
    found = tuple(item.decode() for item in listed.items)
    for each in found:
        check_times(each, source="cluster")
    return found


async def _known(asked: Awaitable[T]) -> Known[T]:
    try:
        return await asked
    except _REFUSALS as error:
        return Unknown(str(error))


async def _pools(api: ReadApi) -> Known[tuple[MachineConfigPool, ...]]:
    """Raises Problem on hosted control planes, which have no pools."""
    try:
        pools = await _all(api, MachineConfigPool)
    except NotServed:
        raise Problem(HOSTED) from None
    except _REFUSALS as error:
        if await _is_hosted(api):
            raise Problem(HOSTED) from None
        return Unknown(str(error))
    if not pools and await _is_hosted(api):
        raise Problem(HOSTED)
    return pools


async def _is_hosted(api: ReadApi) -> bool:
    try:
        found = (await api.get(Infrastructure, "cluster")).decode()
    except _REFUSALS:
        return False
    return found.status.is_hosted


async def _configs(metadata: ReadApi, nodes: Iterable[Node]) -> Read[MachineConfig]:
    """The MachineConfigs that nodes name."""
    found, gaps = [], []
    for name in configs_of(nodes):
        try:
            found.append((await metadata.get(MachineConfig, name)).decode())
        except _REFUSALS as error:
            gaps.append(f"MachineConfig {name}: {error}")
    return Read(tuple(found), tuple(gaps))


async def _operator_image(api: ReadApi) -> Known[str]:
    try:
        return image_of((await api.get(Deployment, MCO_DEPLOYMENT, namespace=MCO_NAMESPACE)).decode())
    except _REFUSALS as error:
        return Unknown(str(error))


async def _optional(api: ReadApi, kind: type[K], what: str) -> Read[K]:
    """Of a kind that not every cluster serves."""
    try:
        return Read(await _all(api, kind))
    except NotServed:
        return Read()
    except _REFUSALS as error:
        return Read(Unknown(str(error)), (f"{what}: {error}",))


async def _records(api: ReadApi) -> tuple[Record, ...]:
    """None where no controller keeps them: expected ends are then those that are usual, and say so."""
    try:
        return tuple(map(record_of, await _all(api, UpdateRecord)))
    except _REFUSALS:
        return ()


def _selected(api: ReadApi) -> Ask:
    async def ask(kind: type[K], *, label_selector: str = "", field_selector: str = "") -> Iterable[K]:
        listed = await api.list(kind, label_selector=label_selector, field_selector=field_selector)
        return [item.decode() for item in listed.items]

    return ask


async def _alerts(api: ReadApi, ask: AskAlerts) -> tuple[tuple[Alert, ...], str]:
    """The alerts from the first host that answers, and the line that says why there are none."""
    try:
        route = (await api.get(Route, THANOS_QUERIER, namespace=MONITORING_NAMESPACE)).decode()
    except Failure as error:
        return (), f"{UNABLE}{error}"
    trouble = f"Route {MONITORING_NAMESPACE}/{THANOS_QUERIER} has no host"
    for ingress in route.status.ingress:
        try:
            return read_alerts(await ask(ingress.host))
        except Failure as error:
            trouble = str(error)
    return (), f"{UNABLE}{trouble}"
