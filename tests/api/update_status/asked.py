"""Informers that are registered, and what is seen of them."""

import base64
import sys
from typing import Any, Final

from windlass.api.core import Service
from windlass.api.update import UpdateStatusStatus
from windlass.api.update_informer import UpdateInformer
from windlass.kube.client import Client
from windlass.kube.conditions import find

STORAGE: Final = "storage"
"""The namespace of their Services."""
NEARBY: Final = (sys.executable, "-m", "tests.api.update_status.nearby")
"""The process that asks them, although no Service leads anywhere on a plane."""


async def register(
    admin: Client, name: str, port: int, authority: str, *, namespace: str = STORAGE, **spec: Any
) -> None:
    """An enabled UpdateInformer and its Service."""
    ports = {"ports": [{"port": port, "protocol": "TCP"}], "selector": {"app": name}}
    await admin.create(Service, {"metadata": {"name": name}, "spec": ports}, namespace=namespace)
    bundle = base64.b64encode(authority.encode()).decode()
    reach = {"service": {"namespace": namespace, "name": name, "port": port}, "caBundle": bundle}
    usual = {"enabled": True, "intervalSeconds": 10, "timeoutSeconds": 2, "clientConfig": reach}
    resource = UpdateInformer.RESOURCE
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
    await admin.create(UpdateInformer, {**body, "spec": {**usual, **spec}})


def host(name: str) -> str:
    return f"{name}.{STORAGE}.svc"


def told(found: UpdateStatusStatus) -> dict[str, list[str]]:
    """Uids of what informers of others tell of the control plane, by informer."""
    informers = found.control_plane.informers if found.control_plane else ()
    return {one.name: [each.uid for each in one.insights] for one in informers if one.namespace}


async def online(admin: Client, *names: str) -> dict[str, str]:
    """The reasons of Online."""
    found = [each.decode() for each in (await admin.list(UpdateInformer)).items]
    conditions = {one.metadata.name: find(one.status.conditions, "Online") for one in found}
    return {name: each.reason if each else "" for name, each in conditions.items() if not names or name in names}
