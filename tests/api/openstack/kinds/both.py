"""OpenStack's kinds twice on one API server, each in a group of its own: as their provider has them, and as ours."""

import copy
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.openstack.installation import OWNED
from windlass.testing.crds import INFRASTRUCTURE, documents
from windlass.testing.plane.access import BlockingAccess, found
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.rest import MERGE_PATCH
from windlass.testing.plane.waiting import wait_for

Tree = dict[str, Any]

OSM, OSMT, OSS = "OpenStackMachine", "OpenStackMachineTemplate", "OpenStackServer"
OSC, OSCT = "OpenStackCluster", "OpenStackClusterTemplate"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OURS = {owned.kind.RESOURCE.kind: owned.manifest() for owned in OWNED}
UUID = "0e3f5d2a-6f1c-4c0b-9d53-2f7b8f5f7a11"
OTHER_UUID = "7a9b1c3d-2e4f-4a6b-8c0d-1e2f3a4b5c6d"
IDENTITY = {"name": "credentials", "cloudName": "openstack"}
MACHINE: Tree = {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}, "sshKeyName": "admin"}
SERVER: Tree = {**MACHINE, "identityRef": IDENTITY, "ports": [{"network": {"id": UUID}}]}
CLUSTER: Tree = {"identityRef": IDENTITY}
LEAST: dict[str, Tree] = {
    OSM: MACHINE,
    OSMT: {"template": {"spec": MACHINE}},
    OSS: SERVER,
    OSC: CLUSTER,
    OSCT: {"template": {"spec": CLUSTER}},
}
"""The least spec of each kind that both have."""


def theirs() -> dict[str, Mapping[str, Any]]:
    """The provider's CRDs by kind."""
    crds = {crd["spec"]["names"]["kind"]: crd for crd in documents(INFRASTRUCTURE)}
    return {kind: crds[kind] for kind in LEAST}


def with_paths(tree: Tree, changes: Mapping[str, Any]) -> Tree:
    """A copy of `tree` with values at dotted paths; None removes."""
    changed = copy.deepcopy(tree)
    for path, value in changes.items():
        *above, last = path.split(".")
        at: Any = changed
        for step in above:
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        if value is None:
            at.pop(last, None)
        else:
            at[last] = copy.deepcopy(value)
    return changed


class Kinds:
    """The kinds of one side, in a group of their own."""

    def __init__(self, plane: BlockingAccess, crds: Mapping[str, Mapping[str, Any]]) -> None:
        self.rest = plane.rest
        self.group = f"openstack-{uuid.uuid4().hex[:8]}.example.org"
        self._plane = plane
        self._crds = {kind: _moved(crd, self.group) for kind, crd in crds.items()}
        plane.apply_crds(*self._crds.values())

    def path(self, kind: str, name: str = "", *, subresource: str = "") -> str:
        spec = self._crds[kind]["spec"]
        root = f"/apis/{self.group}/{spec['versions'][0]['name']}/namespaces/default/{spec['names']['plural']}"
        return "/".join(part for part in (root, name, subresource) if part)

    def create(self, kind: str, name: str, content: Mapping[str, Any]) -> Tree:
        made: Tree = self.rest.request("POST", self.path(kind), self._body(kind, name, content))
        return made

    def refusal(self, kind: str, spec: Any) -> str:
        """What the API server has against a new object with this spec; "" if it admits it."""
        body = self._body(kind, "probe", {"spec": spec})
        return _refusal(lambda: self.rest.request("POST", f"{self.path(kind)}?dryRun=All&fieldValidation=Strict", body))

    def refusal_of_change(self, kind: str, name: str, change: Mapping[str, Any], *, dry_run: bool = True) -> str:
        """What it has against a merge patch."""
        path = f"{self.path(kind, name)}?fieldValidation=Strict{'&dryRun=All' if dry_run else ''}"
        return _refusal(lambda: self.rest.request("PATCH", path, change, content_type=MERGE_PATCH))

    def write_status(self, kind: str, name: str, status: Mapping[str, Any]) -> Tree:
        """The object after a merge patch of its status."""
        path = self.path(kind, name, subresource="status")
        written: Tree = self.rest.request("PATCH", path, {"status": status}, content_type=MERGE_PATCH)
        return written

    def become(self, crds: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace the CRDs as an upgrade does, and wait until those before are no longer served."""
        self._crds = {kind: _moved(crd, self.group) for kind, crd in crds.items()}
        self._plane.apply_crds(*self._crds.values())
        # Only ours refuses a server without ports.
        probe = {**SERVER, "ports": []}
        if wait_for(lambda: bool(self.refusal(OSS, probe)) or None, seconds=PATIENCE) is None:
            pytest.fail(f"the new CRDs did not take effect within {PATIENCE:.0f} s")

    def remove(self) -> None:
        paths = [f"{CRDS}/{crd['metadata']['name']}" for crd in self._crds.values()]
        for path in paths:
            self.rest.request("DELETE", path)
        wait_for(lambda: all(found(self.rest, path) is None for path in paths) or None, seconds=PATIENCE)

    def _body(self, kind: str, name: str, content: Mapping[str, Any]) -> Tree:
        version = self._crds[kind]["spec"]["versions"][0]["name"]
        return {"apiVersion": f"{self.group}/{version}", "kind": kind, "metadata": {"name": name}, **content}


def kinds_of(plane: BlockingAccess, crds: Mapping[str, Mapping[str, Any]]) -> Iterator[Kinds]:
    """For a fixture: the kinds, until the tests are over."""
    kinds = Kinds(plane, crds)
    yield kinds
    kinds.remove()


def _refusal(request: Any) -> str:
    try:
        request()
    except Refused as refused:
        if refused.status not in (400, 422):
            raise
        return str(refused)
    return ""


def _moved(crd: Mapping[str, Any], group: str) -> Tree:
    moved = copy.deepcopy(dict(crd))
    moved["spec"]["group"] = group
    # Other tests look for CRDs by these labels; Cluster API core does, too.
    moved["metadata"] = {"name": f"{crd['spec']['names']['plural']}.{group}"}
    return moved
