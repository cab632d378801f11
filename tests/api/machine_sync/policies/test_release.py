"""What `windlass release` writes is admitted while the policies are in force: they go last."""

import pytest

from windlass.api import capi, mapi
from windlass.kube.control.plan import Merge
from windlass.kube.object import Object
from windlass.machine_sync.constants import (
    AUTHORITY_ANNOTATION,
    MIRRORED_ANNOTATIONS_ANNOTATION,
    MIRRORED_LABELS_ANNOTATION,
    PAUSED_ANNOTATION,
    SYNC_FINALIZER,
)
from windlass.machine_sync.platforms import AWS, OPENSTACK
from windlass.machine_sync.release import holder, plan

from .policed import Kind, Policed, Tree

MIRRORED: Tree = {MIRRORED_LABELS_ANNOTATION: "team=blue", MIRRORED_ANNOTATIONS_ANNOTATION: "own", "own": "1"}
COPY: Tree = {**MIRRORED, AUTHORITY_ANNOTATION: "MachineAPI", PAUSED_ANNOTATION: ""}
MIRRORS: list[tuple[Kind, Tree, Tree | None]] = [
    (mapi.Machine, MIRRORED, {"authoritativeAPI": "ClusterAPI"}),
    (mapi.MachineSet, MIRRORED, {"authoritativeAPI": "ClusterAPI"}),
    (capi.Machine, COPY, None),
    (capi.MachineSet, COPY, None),
    (OPENSTACK.infra_machine, {**MIRRORED, PAUSED_ANNOTATION: ""}, None),
    (AWS.infra_machine, {**MIRRORED, PAUSED_ANNOTATION: ""}, None),
]


@pytest.mark.parametrize(("kind", "annotations", "status"), MIRRORS, ids=[str(kind.RESOURCE) for kind, *_ in MIRRORS])
async def test_a_mirror_can_be_let_go(policed: Policed, kind: Kind, annotations: Tree, status: Tree | None) -> None:
    metadata: Tree = {
        "finalizers": [SYNC_FINALIZER, "other.io/f"],
        "annotations": annotations,
        "labels": {"team": "blue"},
    }
    name = await policed.make(kind, status=status, **metadata)

    (action,) = plan([holder(Object.of(kind, {"metadata": {"name": name, **metadata}}))]).actions

    assert isinstance(action, Merge)
    assert await policed.refusal(kind, name, dict(action.patch)) == ""
