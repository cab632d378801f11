"""Shows the images of pools and their builds, as pools, MachineOSConfigs and MachineOSBuilds say.

Neither a registry, a Pod nor a Secret is read: `document` says what the parts are. One pool in full is read with the
rights of whoever asks.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from windlass.api.authorization import ResourceAttributes
from windlass.api.machineconfiguration import MachineConfigPool
from windlass.api.machineosconfig import MachineOSBuild, MachineOSConfig
from windlass.kube.control.permissions import Permission
from windlass.kube.control.seen import Present, read
from windlass.kube.errors import Forbidden, NotServed
from windlass.os_build.constants import IMAGE, IMAGE_CONFIG, NAMESPACE, OWN_LEASE, THEIR_LEASE
from windlass.os_build.installation import HOME
from windlass.os_build.overview import Claims, current_build
from windlass.os_build.view.document import BUILDS, CONFIGS, POOLS, document
from windlass.web.board import Board
from windlass.web.described import described, present, side
from windlass.web.following import Followed, follow
from windlass.web.running import Controller, Holder, Liveness
from windlass.web.view import Offer, Refused, View

if TYPE_CHECKING:
    from windlass.kube.client import Client

NAME: Final = "os-build"
TITLE: Final = "OS images"
SCRIPTS: Final = "windlass.os_build.view"
KINDS: Final[Mapping[str, Followed[Any]]] = {
    POOLS: Followed(MachineConfigPool, lambda found: found.object),
    CONFIGS: Followed(MachineOSConfig, lambda found: found.object),
    BUILDS: Followed(MachineOSBuild, lambda found: found.object),
}
RULE: Final = tuple(
    ResourceAttributes(verb="list", group=each.kind.RESOURCE.group, resource=each.kind.RESOURCE.plural)
    for each in KINDS.values()
)
CONTROLLER: Final = Controller("OS build", (Holder(HOME, OWN_LEASE), Holder(NAMESPACE, THEIR_LEASE)))


def pools_view(client: "Client") -> View:
    """All pools: they are cluster-scoped."""
    liveness = Liveness(client, CONTROLLER, now=client.server_clock.now)

    async def source(board: Board) -> None:
        await follow(client, KINDS, document, board, liveness=liveness)

    return View(
        name=NAME,
        title=TITLE,
        scripts=SCRIPTS,
        rule=RULE,
        source=source,
        details=_describe,
        needs=needs(),
        clock=client.server_clock.now,
    )


def needs() -> tuple[Permission, ...]:
    """What following takes."""
    return (*(each.need for each in KINDS.values()), *CONTROLLER.needs)


async def _describe(api: "Client", query: Mapping[str, str]) -> Any:
    name = query.get("name", "")
    if not name:
        raise Refused(400, "say which pool: ?name=NAME")
    pool = await present(api, MachineConfigPool, name)
    found, unavailable = [pool], []
    try:
        claims = Claims.of([each.object for each in await _listed(api, MachineOSConfig)], None)
        if config := claims.configs.get(name):
            claim = await present(api, MachineOSConfig, config.metadata.name)
            found.append(claim)
            if build := current_build(claim.object):
                found.append(await present(api, MachineOSBuild, build))
    except Forbidden as error:
        unavailable.append({"what": "its MachineOSConfig with its MachineOSBuild", "message": str(error)})
    except Refused:
        pass  # one that was deleted a moment ago
    told = await described(api, [side(each, _facts(each)) for each in found], found)
    return {**told, "unavailable": [*unavailable, *told["unavailable"]]}


async def _listed(api: "Client", kind: type[Any]) -> list[Present[Any]]:
    try:
        return [each for each in map(read, (await api.list(kind)).items) if isinstance(each, Present)]
    except NotServed:
        return []


def _facts(found: Present[Any]) -> list[tuple[str, str]]:
    match found.object:
        case MachineConfigPool() as pool:
            annotations = found.metadata.annotations
            return [
                ("Asks for", pool.spec.configuration.name),
                ("Image", annotations.get(IMAGE, "")),
                ("Image is of", annotations.get(IMAGE_CONFIG, "")),
                ("Nodes run", pool.status.configuration.name),
                ("Nodes", f"{pool.status.updated_machine_count} of {pool.status.machine_count} run what it asks for"),
            ]
        case MachineOSConfig() as config:
            return [
                ("Pushes to", config.spec.rendered_image_push_spec),
                ("Image", config.status.current_image_pull_spec),
                ("Build", current_build(config)),
            ]
        case MachineOSBuild() as build:
            job = build.status.builder.job if build.status.builder else None
            return [
                ("Built from", build.spec.machine_config.name),
                ("Job", f"{job.namespace}/{job.name}" if job else ""),
                ("Image", build.status.digested_image_push_spec),
            ]
    return []


def _live(client: "Client", _: str) -> View:
    return pools_view(client)


VIEW: Final = Offer(live=_live, needs=needs)
