"""The quotas of a project: their limits, and how much of them is used."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeAlias

from windlass.kube.foreign import read_json
from windlass.openstack.cloud.failures import Unavailable
from windlass.openstack.cloud.inventory import Quota
from windlass.openstack.cloud.wire import UNREADABLE, Answer, Http, Service

Ask: TypeAlias = Callable[[Http], Awaitable[Answer]]

_LIMITS: Final[Mapping[Service, tuple[tuple[str, str, str], ...]]] = {
    "compute": (
        ("instances", "maxTotalInstances", "totalInstancesUsed"),
        ("cores", "maxTotalCores", "totalCoresUsed"),
        ("ram", "maxTotalRAMSize", "totalRAMUsed"),
    ),
    "block-storage": (
        ("volumes", "maxTotalVolumes", "totalVolumesUsed"),
        ("gigabytes", "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
    ),
}
"""What we call a quota, and its limit and use as the service calls them."""


async def limits(ask: Ask, service: Service) -> list[Quota]:
    """Those of Nova or Cinder."""
    answer = await ask(Http(service, "GET", "/limits"))
    with _reading(service):
        found = read_json(answer.body)["limits"]["absolute"]
        return [
            Quota(name, int(found.get(limit, -1)), int(found.get(used, 0))) for name, limit, used in _LIMITS[service]
        ]


async def network_limits(ask: Ask, project_id: str) -> list[Quota]:
    """Those of Neutron: of ports and trunks."""
    answer = await ask(Http("network", "GET", f"/v2.0/quotas/{project_id}/details.json"))
    with _reading("network"):
        quotas = read_json(answer.body)["quota"]
        found = [(name, quotas[name]) for name in ("port", "trunk") if name in quotas]
        return [Quota(name, int(each["limit"]), int(each["used"] + each["reserved"])) for name, each in found]


@contextmanager
def _reading(service: Service) -> Iterator[None]:
    try:
        yield
    except UNREADABLE as error:
        raise Unavailable(service, f"the answer holds no quotas: {error}") from None
