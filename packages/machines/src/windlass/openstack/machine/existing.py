"""The server that exists already for an OpenStackMachine, by its providerID or by what was recorded.

    openstack://RegionOne/0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55
    openstack:///0b5f4c1e-8e5f-4d0c-9b0e-3f0a2a1d7c55

A Machine that had its server before it had us (a Machine of the Machine API, an older provider) never gets another one.

An OpenStackServer that was restored without its status, and never had a mark, does not know its server: its machine
names the server to it, before anything is made or deleted.

Its OpenStackServer may have lost its owner: a backup is restored without owners, and Machine sync recreates a paused
OpenStackMachine when fields change that its provider does not allow to change, and orphans what it owns. The machine
takes back one of its name

* with the root of its own mark,
* without a mark, as other providers leave it, that has the label of its cluster, and no server but that of the machine,
* with the server of the machine, which had paused it.
"""

from typing import Final

from windlass.api.capo import OpenStackMachine
from windlass.api.capo_server import OpenStackServer
from windlass.api.meta import owner_reference, tree
from windlass.kube.control.plan import Merge, target
from windlass.kube.control.seen import Present
from windlass.openstack.cloud.marks import root_of
from windlass.openstack.constants import (
    ADOPT_ANNOTATION,
    CLUSTER_LABEL,
    MARK_ANNOTATION,
    PAUSED_ANNOTATION,
    PROVIDER_ID,
)
from windlass.openstack.instance.spec import Problem
from windlass.openstack.machine.server_of import identity_of
from windlass.openstack.machine.snapshot import HANDED_DOWN, OpenStackMachineSnapshot

_KIND: Final = OpenStackMachine.RESOURCE.kind


def own_server(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> Present[OpenStackServer] | None:
    """Its OpenStackServer; None if there is none, or if it belongs to something else.

    Its name says whose it is, not the uid: a moved object has another one.
    """
    server = seen.server
    if not isinstance(server, Present):
        return None
    owners = server.metadata.owner_references
    if not owners:
        return server if _is_left(seen, found, server) else None
    return server if any((each.kind, each.name) == (_KIND, found.metadata.name) for each in owners) else None


def _is_left(
    seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], server: Present[OpenStackServer]
) -> bool:
    has, stored = server.object.status.instance_id, server.metadata.annotations.get(MARK_ANNOTATION, "")
    fits = bool(has) and existing_server(seen, found) == has
    if fits and server.metadata.annotations.get(PAUSED_ANNOTATION) == HANDED_DOWN:
        return True
    if found.deleting:  # somebody may have orphaned it on purpose
        return False
    if stored:
        return root_of(stored) == root_of(found.metadata.annotations.get(MARK_ANNOTATION, ""))
    return (fits or not has) and server.metadata.labels.get(CLUSTER_LABEL) == seen.cluster_name != ""


def taken_back(found: Present[OpenStackMachine], server: Present[OpenStackServer]) -> Merge:
    """Make the machine the owner of its OpenStackServer; no change if the OpenStackServer has an owner."""
    owners = server.metadata.owner_references
    return Merge(
        target=target(server),
        observed={"metadata": {"ownerReferences": tree(owners)} if owners else {}},
        desired={"metadata": {"ownerReferences": tree(owners or [owner_reference(OpenStackMachine, found.metadata)])}},
        why="its machine was recreated, or both were restored",
    )


def naming(
    seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine], server: Present[OpenStackServer]
) -> Merge | None:
    """Names the server of the machine to its OpenStackServer; None if that knows one, or the machine does not."""
    annotations = dict(server.metadata.annotations)
    exists = existing_server(seen, found)
    if not exists or isinstance(exists, Problem) or server.object.status.instance_id or server.deleting:
        return None
    if ADOPT_ANNOTATION in annotations or MARK_ANNOTATION in annotations:
        return None
    return Merge(
        target=target(server),
        observed={"metadata": {"annotations": annotations}},
        desired={"metadata": {"annotations": {**annotations, ADOPT_ANNOTATION: exists}}},
        why="it was restored without its status: its machine names its server",
    )


def provider_id(found: Present[OpenStackMachine], server: str) -> str:
    """The providerID of the machine with this server. One that names the server already stays as it is."""
    stored = found.object.spec.provider_id or ""
    form = PROVIDER_ID.fullmatch(stored)
    if form is not None and form[2] == server:
        return stored
    ref = found.object.spec.identity_ref
    return f"openstack://{ref.region if ref is not None else ''}/{server}"


def existing_server(seen: OpenStackMachineSnapshot, found: Present[OpenStackMachine]) -> str | Problem:
    """The ID of the server; empty if there is none yet. A Problem if no server of this cloud is named, or two are."""
    owner = seen.owner
    named = {
        "spec.providerID": found.object.spec.provider_id or "",
        "spec.providerID of its Machine": owner.object.spec.provider_id if isinstance(owner, Present) else "",
    }
    servers: dict[str, str] = {}
    for field, text in named.items():
        if not text:
            continue
        form = PROVIDER_ID.fullmatch(text)
        if form is None:
            return _wrong(f"{field} is {text!r}, which names no server in OpenStack: remove it, or correct the ID")
        ref = identity_of(found.object, seen.known_infra)
        if form[1] and ref is not None and ref.region and form[1] != ref.region:
            return _wrong(f"{field} names a server in region {form[1]}, but identityRef.region is {ref.region}")
        servers[field] = form[2]
    if recorded := found.object.status.instance_id:
        servers["status.instanceID"] = recorded
    if len(set(servers.values())) > 1:
        text = " and ".join(f"{field} names server {server}" for field, server in servers.items())
        return _wrong(f"{text}: correct spec.providerID")
    return next(iter(servers.values()), "")


def _wrong(text: str) -> Problem:
    return Problem("Invalid", "providerID", text)
