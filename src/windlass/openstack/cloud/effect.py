"""Updates the lists of a project with the effect of an answered request, without listing again."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import structs

from windlass.openstack.cloud.failures import Doubtful
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.listing import Listing
from windlass.openstack.cloud.requests import (
    CloudRequest,
    CreatePort,
    CreateServer,
    CreateTrunk,
    CreateVolume,
    Creation,
    DeletePort,
    DeleteServer,
    DeleteTrunk,
    DeleteVolume,
    Describe,
    MarkServer,
    MarkVolume,
    ReleaseVolume,
    RemoveSubports,
    SetTags,
)
from windlass.openstack.cloud.resources import Port, Server, Trunk, Volume
from windlass.openstack.cloud.wire import Answer

GONE = 404
MADE: Final[Mapping[type[Creation], type[Any]]] = {
    CreatePort: Port,
    CreateTrunk: Trunk,
    CreateVolume: Volume,
    CreateServer: Server,
}
"""What each creating request makes."""
R = TypeVar("R", Server, Port, Trunk, Volume)


def after(request: CloudRequest, answer: Answer, lists: Mapping[type[Any], Listing[Any]]) -> Any:
    """Lay the effect of `request` over the `lists`; returns the resource that a creating request made."""
    servers, ports, trunks, volumes = (lists[kind] for kind in (Server, Port, Trunk, Volume))
    neutron = {"ports": ports, "trunks": trunks}
    match request:
        case Creation():
            made = _made(request, answer)
            lists[type(made)].put(made)
            return made
        case SetTags():
            _change(neutron[request.collection], request.id, tags=list(request.tags))
        case Describe():
            _change(neutron[request.collection], request.id, description=request.description)
        case MarkServer():
            _mark(servers, request.id, request.mark)
        case MarkVolume():
            _mark(volumes, request.id, request.mark)
        case RemoveSubports():
            _change(trunks, request.id, sub_ports=[])
            _change_parent(ports, request.id, {"sub_ports": []})
        case DeletePort():
            ports.drop(request.id)
        case DeleteTrunk():
            trunks.drop(request.id)
            _change_parent(ports, request.id, None)
        case ReleaseVolume():
            _change(volumes, request.volume, status="available")
        case DeleteServer() if answer.status == GONE:
            servers.drop(request.id)
        case DeleteVolume() if answer.status == GONE:
            volumes.drop(request.id)
        case DeleteServer():
            _change(servers, request.id, task_state="deleting")
        case DeleteVolume():
            _change(volumes, request.id, status="deleting")
    return None


def _made(request: Creation, answer: Answer) -> Any:
    kind = MADE[type(request)]
    try:
        made = msgspec.json.decode(answer.body, type=dict[str, kind])[request.ENVELOPE]  # type: ignore[valid-type]
    except (msgspec.MsgspecError, KeyError) as error:
        text = f"the answer to {request.verb} {request.subject} cannot be read: {error}"
        raise Doubtful(request.SERVICE, text, code=answer.status) from None
    if isinstance(made, Server):  # Nova's answer has little more than the ID
        return structs.replace(made, name=request.body.get("name", ""), metadata=dict(request.body.get("metadata", {})))
    return made


def _change(listing: Listing[R], which: str, **fields: Any) -> None:
    if (item := listing.get(which)) is not None:
        listing.put(structs.replace(item, **fields))


def _change_parent(ports: Listing[Port], trunk: str, details: Mapping[str, Any] | None) -> None:
    """The parent port of a trunk shows the trunk too."""
    for port in list(ports.all()):
        if port.trunk_details and port.trunk_details.get("trunk_id") == trunk:
            told = {**port.trunk_details, **details} if details is not None else None
            ports.put(structs.replace(port, trunk_details=told))


def _mark(listing: Listing[R], which: str, mark: str) -> None:
    item = listing.get(which)
    if isinstance(item, Server | Volume):
        listing.put(structs.replace(item, metadata={**item.metadata, MARK: mark}))
