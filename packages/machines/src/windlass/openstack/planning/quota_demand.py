"""What servers that do not exist yet ask of the quotas of their projects, and what is left.

    cloud demo of your clouds.yaml: instances: 3 wanted, 7 of 10 left; cores: 6 wanted, 14 of 20 left

It counts servers whose choices are made: until then, the needs of a server are not known.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any

from windlass.api.capo_server import OpenStackServer
from windlass.capability.planning.decider import PlanReader
from windlass.capability.planning.planner import Remark
from windlass.kube.object import NamespacedName
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import NONE
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Flavor


class AskedClouds(Clouds):
    """Clouds that remember which projects were asked, and for which OpenStackServers. `called`: what people call the
    one cloud that is asked whatever the objects say."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.called = ""
        self.names: dict[str, str] = {}
        self.projects: dict[Hashable, Account] = {}

    async def project(self, credentials: Credentials) -> Account:
        found = await super().project(credentials)
        self.names[found.key] = self.called or f"cloud {credentials.name} of {credentials.where}"
        return found

    def follow(self, key: Hashable, project: Account, mark: str, recorded: Any = NONE) -> None:
        self.projects[key] = project


async def quotas(clouds: AskedClouds, inventory: PlanReader, *, replicas: Mapping[NamespacedName, int]) -> list[Remark]:
    """A sentence for each project, a warning if something does not fit. `replicas`: see `StandIns`."""
    wanted: dict[str, Counter[str]] = {}
    asked: dict[str, Account] = {}
    for found in inventory.listing(OpenStackServer):
        if (project := clouds.projects.get(found.key)) is not None:
            asked[project.key] = project
            need = await _needed(project, found.decode())
            times = replicas.get(found.key, 1)
            counted = wanted.setdefault(project.key, Counter())
            counted.update({name: count * times for name, count in need.items()})
    return [await _remark(asked[key], clouds.names[key], need) for key, need in wanted.items() if need.total()]


async def _needed(project: Account, server: OpenStackServer) -> Counter[str]:
    """What is still to be created for a server; nothing before its choices are made."""
    resolved, resources = server.status.resolved, server.status.resources
    if resolved is None or server.status.instance_id or not resolved.flavor_id:
        return Counter()
    ports, volumes = len(resolved.ports), resolved.volumes
    if resources is not None:
        ports, volumes = ports - len(resources.ports), volumes[len(resources.volumes) :]
    query = Query("flavor", id=resolved.flavor_id)
    answer = (await project.find([query]))[query]
    flavors = [] if isinstance(answer, CloudFailure) else [each for each in answer if isinstance(each, Flavor)]
    return Counter(
        instances=1,
        cores=sum(flavor.vcpus for flavor in flavors),
        ram=sum(flavor.ram for flavor in flavors),
        port=max(ports, 0),
        volumes=len(volumes),
        gigabytes=sum(volume.size_gib for volume in volumes),
    )


async def _remark(project: Account, name: str, wanted: Counter[str]) -> Remark:
    try:
        found = {quota.resource: quota for quota in await project.quotas()}
    except CloudFailure as failure:
        return "note", f"{name}: its quotas are not known: {failure}"
    parts, short = [], False
    for resource, count in wanted.items():
        quota = found.get(resource)
        if not count or quota is None:
            continue
        left = quota.limit - quota.used
        short = short or (quota.limit >= 0 and count > left)
        there = f"{left} of {quota.limit} left" if quota.limit >= 0 else "no limit"
        parts.append(f"{resource}: {count} wanted, {there}")
    return "warning" if short else "note", f"{name}: {'; '.join(parts)}"
