"""Two namespaces with the policies in force, and what becomes of requests there.

    name = await policed.make(capi.Machine, annotations={...})
    assert await policed.refusal(capi.Machine, name, {"spec": {...}}) == "Changing .spec is not allowed. ..."

Requests that are tried are dry runs: admission is asked, nothing changes, and one object serves many cases.
"""

import asyncio
import copy
import itertools
import json
import re
import ssl
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tests.authorizer import allowed
from tests.objects import home
from tests.waiting import eventually
from windlass.api import capi, mapi
from windlass.api.meta import KubernetesObject
from windlass.kube import config
from windlass.kube.client import Client
from windlass.kube.client.transport import JSON
from windlass.kube.config import Impersonation
from windlass.kube.errors import Forbidden, Invalid
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import SYNC_FINALIZER, Namespaces
from windlass.machine_sync.platforms import AWS, OPENSTACK
from windlass.testing.plane.facade import PlaneAccess

Tree = dict[str, Any]
Kind = type[KubernetesObject]

USER = "some-administrator"
PROVIDER = "system:serviceaccount:providers:capo"
"""Exempt because the one who installed the policies said so."""

_DENIED = re.compile(r"ValidatingAdmissionPolicy '[^']+' with binding '[^']+' denied request: (.*)", re.DOTALL)
_SELECTED = {"matchLabels": {"set": "x"}}
_MACHINE_SPEC: Tree = {
    "clusterName": "c",
    "bootstrap": {"dataSecretName": "worker-user-data"},
    "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "OpenStackMachine", "name": "x"},
}
_OPENSTACK: Tree = {"flavor": "m1.large", "image": {"filter": {"name": "rhcos"}}}
_AWS: Tree = {"ami": {"id": "ami-0123456789abcdef0"}, "instanceType": "m6i.large", "cloudInit": {}}

SPECS: dict[Kind, Tree] = {
    mapi.Machine: {"authoritativeAPI": "MachineAPI", "providerSpec": {"value": {"flavor": "m1.large"}}},
    mapi.MachineSet: {
        "authoritativeAPI": "MachineAPI",
        "replicas": 1,
        "selector": _SELECTED,
        "template": {"metadata": {"labels": {"set": "x"}}, "spec": {"providerSpec": {"value": {"flavor": "m1.large"}}}},
    },
    capi.Machine: _MACHINE_SPEC,
    capi.MachineSet: {
        "clusterName": "c",
        "replicas": 1,
        "selector": _SELECTED,
        "template": {"metadata": {"labels": {"set": "x"}}, "spec": _MACHINE_SPEC},
    },
    OPENSTACK.infra_machine: _OPENSTACK,
    OPENSTACK.infra_template: {"template": {"spec": _OPENSTACK}},
    AWS.infra_machine: _AWS,
    AWS.infra_template: {"template": {"spec": _AWS}},
}
"""The least that the CRDs admit."""


_IMAGES = ("image.", "template.spec.image.")
"""An image is named in one way, so that another one replaces it."""
_MACHINE_API = (mapi.Machine, mapi.MachineSet)
_TWINS: dict[Kind, Kind] = {
    mapi.Machine: capi.Machine,
    mapi.MachineSet: capi.MachineSet,
    capi.Machine: mapi.Machine,
    capi.MachineSet: mapi.MachineSet,
}


class Policed:
    """See the module; `users` are clients by the name of the user they act as."""

    def __init__(
        self, plane: PlaneAccess, namespaces: Namespaces, users: dict[str, Client], stack: AsyncExitStack
    ) -> None:
        self.namespaces = namespaces
        self._stack = stack
        self._plane = plane
        self._users = users
        self._numbers = itertools.count(1)

    @classmethod
    @asynccontextmanager
    async def by(cls, plane: PlaneAccess, namespaces: Namespaces, *names: str) -> AsyncIterator["Policed"]:
        """With clients for USER and for the other users `names`."""
        async with AsyncExitStack() as stack:
            users: dict[str, Client] = {}
            for name in (USER, *names):
                acting = config.load(
                    kubeconfig=plane.kubeconfig(), impersonate=Impersonation(user=name, groups=("system:masters",))
                )
                users[name] = await stack.enter_async_context(Client(acting, field_manager="test"))
            yield cls(plane, namespaces, users, stack)

    # objects

    async def make(
        self,
        kind: Kind,
        spec: Tree | None = None,
        *,
        status: Tree | None = None,
        name: str = "",
        by: str = USER,
        namespace: str = "",
        **metadata: Any,
    ) -> str:
        """Make an object, which must be admitted; returns its name."""
        name = name or f"o-{time.monotonic_ns()}-{next(self._numbers)}"
        body = {"metadata": {"name": name, **metadata}, "spec": {**SPECS[kind], **(spec or {})}}
        where = namespace or self.home(kind)
        await self._users[by].create(kind, body, namespace=where)
        if status is not None:
            await self._users[by].patch(
                kind, name, {"status": status}, type=PatchType.MERGE, namespace=where, subresource="status"
            )
        return name

    async def may(self, name: str, *verbs: str) -> str:
        """A further user, who has these verbs on Machines of Cluster API and no other right. Returns the name."""
        group, plural = capi.Machine.RESOURCE.group, capi.Machine.RESOURCE.plural
        named = {"name": name, "namespace": self.namespaces.cluster_api}
        rbac = "rbac.authorization.k8s.io"
        await self._plane.apply(
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "Role",
                "metadata": named,
                "rules": [{"apiGroups": [group], "resources": [plural], "verbs": list(verbs)}],
            },
            {
                "apiVersion": f"{rbac}/v1",
                "kind": "RoleBinding",
                "metadata": named,
                "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
                "subjects": [{"apiGroup": rbac, "kind": "User", "name": name}],
            },
        )
        await allowed(
            self._plane.blocking.rest, name, verbs[-1], f"{plural}.{group}", namespace=self.namespaces.cluster_api
        )
        acting = config.load(kubeconfig=self._plane.kubeconfig(), impersonate=Impersonation(user=name))
        self._users[name] = await self._stack.enter_async_context(Client(acting, field_manager="test"))
        return name

    async def patch(self, kind: Kind, name: str, patch: Tree, *, by: str = USER) -> None:
        """A merge patch, which must be admitted."""
        await self._users[by].patch(kind, name, patch, type=PatchType.MERGE, namespace=self.home(kind))

    async def twins_seen(self, kind: Kind) -> None:
        """Until policies are given all objects of `kind` that there are: they hear of them by a watch."""
        other, status = _TWINS[kind], {"authoritativeAPI": "MachineAPI"} if kind in _MACHINE_API else None
        witness = await self.make(kind, status=status)
        await eventually(
            lambda: self.creation_refusal(other, name=witness),
            bool,
            what=f"policies that know {kind.RESOURCE} {witness}",
        )

    async def delete(self, kind: Kind, name: str) -> None:
        await self._users[USER].delete(kind, name, namespace=self.home(kind))

    def home(self, kind: Kind) -> str | None:
        return home(kind, self.namespaces)

    # attempts

    async def refusal(self, kind: Kind, name: str, patch: Tree, *, by: str = USER, namespace: str = "") -> str:
        """The message with which a policy refuses this merge patch; empty if it is admitted."""
        path = kind.RESOURCE.path(name, namespace=namespace or self.home(kind))
        return await self._tried(by, "PATCH", path, patch, content_type="application/merge-patch+json")

    async def creation_refusal(
        self, kind: Kind, spec: Tree | None = None, *, by: str = USER, namespace: str = "", name: str = "x", **meta: Any
    ) -> str:
        """The message with which a policy refuses to create this; empty if it is admitted."""
        body = {
            "apiVersion": kind.RESOURCE.api_version,
            "kind": kind.RESOURCE.kind,
            "metadata": {"name": name, **meta},
            "spec": {**SPECS[kind], **(spec or {})},
        }
        path = kind.RESOURCE.path(namespace=namespace or self.home(kind))
        return await self._tried(by, "POST", path, body)

    async def _tried(self, by: str, method: str, path: str, body: Tree, *, content_type: str = JSON) -> str:
        try:
            await self._users[by].request(method, path, query={"dryRun": "All"}, body=body, content_type=content_type)
        except (Forbidden, Invalid) as refused:
            if (denied := _DENIED.search(str(refused))) is None:
                raise
            return denied.group(1)
        return ""

    async def warnings(self, kind: Kind, name: str, patch: Tree) -> list[str]:
        """What the API server warns of when it is asked for this merge patch, which it must admit."""
        return await asyncio.to_thread(self._warnings, kind.RESOURCE.path(name, namespace=self.home(kind)), patch)

    def _warnings(self, path: str, patch: Tree) -> list[str]:
        connection = self._plane.connection
        request = urllib.request.Request(
            f"{connection.url}{path}?dryRun=All",
            method="PATCH",
            data=json.dumps(patch).encode(),
            headers={
                "Authorization": f"Bearer {connection.tokens['admin']}",
                "Content-Type": "application/merge-patch+json",
            },
        )
        trusted = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(connection.ca_file)))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trusted)
        with opener.open(request, timeout=30) as response:
            return [re.sub(r'^299 \S+ "|"$', "", one) for one in response.headers.get_all("Warning") or []]


def change_of(kind: Kind, path: str, value: Any) -> Tree:
    """The merge patch that makes `spec_of` of the least spec."""
    spec = spec_of(kind, path, value)
    if path.startswith(_IMAGES) and "filter" not in path:
        image = spec["template"]["spec"]["image"] if "template" in spec else spec["image"]
        image["filter"] = None
    return {"spec": spec}


def spec_of(kind: Kind, path: str, value: Any) -> Tree:
    """The spec of `kind` with the field at `path` set; `[]` is the first item of a list that is there."""
    spec = copy.deepcopy(SPECS[kind])
    *way, last = path.split(".")
    at: Any = spec
    for name in way:
        at = at.setdefault(name.removesuffix("[]"), [{}] if name.endswith("[]") else {})
        at = at[0] if name.endswith("[]") else at
    if path.startswith(_IMAGES):
        at.clear()
    at[last] = value
    return spec


async def wait_until_in_force(policed: Policed) -> None:
    """Until the policy that was installed last refuses what it must: then all of them are known to the API server.

    And until those that are given other objects have seen those: until then they refuse everything.
    """

    async def in_force() -> bool:
        if not await policed.creation_refusal(
            OPENSTACK.infra_machine, {"flavorID": "probe"}, finalizers=[SYNC_FINALIZER]
        ):
            return False
        return not any([await policed.creation_refusal(kind, name="nobody") for kind in _TWINS])

    await eventually(in_force, bool, what="policies in force")
