"""Declares how OpenStack is planned: by the controllers themselves, which ask the cloud and send nothing.

Files are planned to the end: on a model of an API server, until the next step needs an answer of the cloud. With
`credentials`, the user's own cloud is asked for whatever credentials the objects name.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final

from msgspec import structs

from windlass.api.capo_server import OpenStackServer
from windlass.api.mapi import Machine
from windlass.capability.planning import Decider, Ground, NoGround, Planner, PlanReader, Scope
from windlass.capability.planning.planner import Remark, plain_planner
from windlass.kube.conditions import FALSE, find
from windlass.kube.control.controller import Controller
from windlass.kube.object import NamespacedName
from windlass.openstack.cloud.account import Account
from windlass.openstack.cloud.clouds import Clouds
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.cloud.failures import CloudFailure
from windlass.openstack.cloud.inventory import NONE
from windlass.openstack.cloud.query import Query
from windlass.openstack.cloud.resources import Flavor
from windlass.openstack.identity.controller import NAME as IDENTITY
from windlass.openstack.metrics import COUNTED
from windlass.openstack.planning.older_versions import OLD, of_today
from windlass.openstack.planning.stand_ins import READ, StandIns
from windlass.openstack.status import READY, Reason

# What servers that do not exist yet ask of the quotas of their projects, and what is left.
#
#     cloud demo of your clouds.yaml: instances: 3 wanted, 7 of 10 left; cores: 6 wanted, 14 of 20 left
#
# It counts servers whose choices are made: until then, the needs of a server are not known.


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


WRONG: Final = frozenset(
    {
        Reason.AUTHENTICATION_FAILED,
        Reason.DEPENDENCY_FAILED,
        Reason.INVALID_CONFIGURATION,
        Reason.INVALID_MACHINE_SPEC,
        Reason.NETWORK_CREATE_FAILED,
        Reason.SUBNET_CREATE_FAILED,
        Reason.ROUTER_CREATE_FAILED,
        Reason.SECURITY_GROUP_CREATE_FAILED,
        Reason.API_ENDPOINT_CONFIG_FAILED,
    }
)
"""Reasons of `Ready`, or of a cause of it, that somebody has to do something about before the objects are created."""

Controllers = Callable[[Any, Clouds], tuple[Controller[Any, Any], ...]]


def planner(
    controllers: Controllers,
    *,
    reader: Any,
    credentials: Callable[[], Credentials] | None = None,
    clouds: AskedClouds | None = None,
    machine_api: str = "",
) -> Planner:
    """`controllers` makes them from a reader (`reader`: one that is never read) and `clouds`. `machine_api`: the
    namespace whose Machines of the Machine API they serve; empty: none."""
    clouds = clouds or AskedClouds()
    stand_ins = StandIns()
    watched = [watch.kind for each in controllers(reader, clouds) for watch in each.watches]
    kinds = tuple(dict.fromkeys((*watched, *READ)))
    subjects = (*COUNTED, *((Machine,) if Machine in watched else ()))
    scope = Scope(
        kinds=kinds,
        subjects=subjects,
        filled=subjects,
        home=lambda kind: machine_api if kind is Machine else "default",
        older={OLD: of_today},
    )
    plain = plain_planner(lambda reader: controllers(reader, clouds), scope=scope)

    async def look(reader: Any, *, whole: bool) -> Ground:
        ground = await plain.ground(reader, whole=whole)

        def deciders(inventory: PlanReader) -> list[Decider]:
            # Of files the Secrets are not looked after: those of the user's own cloud are not to be shown.
            found = ground.deciders(inventory)
            return found if whole else [each for each in found if each.controller.name != IDENTITY]

        async def remarks(inventory: PlanReader) -> list[Remark]:
            wrong = [] if whole else list(_wrong(inventory))
            elsewhere = _elsewhere(inventory, machine_api) if machine_api else ()
            return [*await quotas(clouds, inventory, replicas=stand_ins.replicas), *wrong, *elsewhere]

        return structs.replace(ground, deciders=deciders, remarks=remarks, holding=clouds)

    def complete(trees: Any) -> Any:
        try:
            theirs = credentials() if credentials else None
        except CloudFailure as failure:
            raise NoGround(failure.fault) from None
        if theirs is not None:
            clouds.called = f"cloud {theirs.name} of your clouds.yaml"
        return stand_ins(trees, credentials=theirs)

    return structs.replace(plain, ground=look, complete=complete, follows=True)


def _elsewhere(inventory: PlanReader, machine_api: str) -> Iterator[Remark]:
    """Machines of files for which nothing is planned, because of their namespace."""
    for place, count in sorted(Counter(found.namespace or "" for found in inventory.listing(Machine)).items()):
        if place != machine_api:
            what = "1 Machine" if count == 1 else f"{count} Machines"
            served = f"with --machine-api, Machines in {machine_api} are served"
            yield "note", f"{what} in namespace {place} left out: {served}; --machine-api-namespace says otherwise"


def _wrong(inventory: PlanReader) -> Iterator[Remark]:
    """What has to be corrected in files, each said once."""
    said = set()
    kinds: list[type[Any]] = sorted(COUNTED, key=lambda kind: kind is not OpenStackServer)
    for kind in kinds:
        for found in inventory.listing(kind):
            conditions = (found.tree().get("status") or {}).get("conditions") or []
            ready = find(conditions, READY)
            if ready is None or ready["status"] != FALSE:
                continue
            causes = [ready] if ready["reason"] != Reason.MULTIPLE_ISSUES else conditions
            if not any(each["status"] == FALSE and each["reason"] in WRONG for each in causes):
                continue
            if ready["message"] not in said:
                said.add(ready["message"])
                yield "error", f"{kind.RESOURCE.kind.lower()}/{found.namespace}/{found.name}: {ready['message']}"
