"""The process `windlass-update-status`, and reads of what it keeps."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec

from tests.program import Program, running
from tests.waiting import eventually
from windlass.api import core
from windlass.api.update import UpdateStatus, UpdateStatusStatus
from windlass.api.update_record import UpdateRecord
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.testing import BlockingAccess

DEPLOY = Path(__file__).parents[3] / "deploy" / "update-status"
CRDS = DEPLOY / "base" / "crds.yaml"
HOME, NAME = "windlass-update-status", "windlass-update-status"
"""Namespace and name of the ServiceAccount that is shipped, and of the Lease."""
USER = f"system:serviceaccount:{HOME}:{NAME}"
_PROGRAM = (str(Path(sys.executable).with_name("windlass-update-status")),)


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


async def records(api: Client) -> list[UpdateRecord]:
    return [found.decode() for found in (await api.list(UpdateRecord)).items]


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


_MOMENTS = {"acquiredAt", "lastTransitionTime", "observedSince", "startedAt", "estimatedCompletedAt"}


def _timeless(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _timeless(value) for key, value in tree.items() if key not in _MOMENTS}
    if isinstance(tree, list | tuple):
        return [_timeless(one) for one in tree]
    return tree
