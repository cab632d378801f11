"""The process `windlass-update-status`, and reads of what it keeps."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tests.patience import PATIENCE
from tests.program import Program, running
from tests.waiting import eventually
from windlass.api import core
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.testing import BlockingAccess
from windlass.testing.plane.pool import PlanePool
from windlass.testing.plane.waiting import wait_for
from windlass.update_status.record import Record, record_of

DEPLOY = Path(__file__).parents[3] / "deploy" / "update-status"
CRDS = DEPLOY / "crds" / "crds.yaml"
HOME, NAME = "windlass-update-status", "windlass-update-status"
"""Namespace and name of the ServiceAccount that is shipped, and of the Lease."""
USER = f"system:serviceaccount:{HOME}:{NAME}"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PROGRAM = (str(Path(sys.executable).with_name("windlass-update-status")),)


@contextmanager
def our_kinds(planes: PlanePool, others: Sequence[Mapping[str, Any]]) -> Iterator[BlockingAccess]:
    """The plane of this worker for modules, with the CRDs `others`, and ours until the block ends.

    Later modules find a cluster that never had ours.
    """
    plane = planes.plane("module", crds=tuple(others)).blocking
    applied = [crd["metadata"]["name"] for crd in plane.apply_crds(CRDS)]
    yield plane
    plane = planes.plane("module").blocking
    for name in applied:
        plane.rest.request("DELETE", f"{_DEFINITIONS}/{name}")
    there = partial(_none_of, plane, applied)
    assert wait_for(there, seconds=PATIENCE), f"{', '.join(applied)} are still being deleted"


def _none_of(plane: BlockingAccess, names: list[str]) -> bool | None:
    found = plane.rest.request("GET", _DEFINITIONS)["items"]
    return None if {crd["metadata"]["name"] for crd in found} & {*names} else True


def install(plane: BlockingAccess) -> Path:
    """Apply the rights as they are shipped; returns a kubeconfig of the ServiceAccount."""
    mco = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-machine-config-operator"}}
    plane.apply(mco)
    plane.apply_files(DEPLOY / "base" / "rbac.yaml")
    return plane.service_account_kubeconfig(HOME, NAME)


def keeping(
    kubeconfig: Path, folder: Path, *arguments: str, metrics: bool = False, program: Sequence[str] = _PROGRAM
) -> AbstractAsyncContextManager[Program]:
    """A process that is ready."""
    return running([*program, f"--kubeconfig={kubeconfig}", *arguments], folder, metrics=metrics)


async def status(api: Client) -> UpdateStatusStatus:
    """What the UpdateStatus says; nothing if there is none."""
    try:
        return (await api.get(UpdateStatus, "cluster")).decode().status
    except NotFound:
        return UpdateStatusStatus()


async def until_status(api: Client, holds: Callable[[UpdateStatusStatus], Any], what: str) -> UpdateStatusStatus:
    found = await eventually(lambda: status(api), holds, what=what)
    assert isinstance(found, UpdateStatusStatus)
    return found


async def records(api: Client) -> list[Record]:
    return [record_of(found.decode()) for found in (await api.list(UpdateRecord)).items]


async def events(api: Client) -> list[core.Event]:
    """Those about the UpdateStatus that there is now."""
    try:
        uid = (await api.get(UpdateStatus, "cluster")).uid
    except NotFound:
        return []
    found = [one.decode() for one in (await api.list(core.Event, namespace="default")).items]
    return [one for one in found if one.involved_object.uid == uid]


def timeless(status: UpdateStatusStatus) -> Any:
    """The status without moments, to compare two that were written at different times."""
    return _timeless(msgspec.to_builtins(status))


_MOMENTS = {
    "acquiredAt",
    "earliest",
    "estimatedCompletedAt",
    "firstSeenAt",
    "lastTransitionTime",
    "latest",
    "middle",
    "observedSince",
    "startedAt",
}


def _timeless(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _timeless(value) for key, value in tree.items() if key not in _MOMENTS}
    if isinstance(tree, list | tuple):
        return [_timeless(one) for one in tree]
    return tree
