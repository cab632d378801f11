"""A cluster whose records an earlier version stored gets the kinds and the controller of now."""

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.patience import PATIENCE
from tests.waiting import eventually
from windlass.api.update_record import FORMER, UpdateRecord
from windlass.kube.client import Client
from windlass.testing import BlockingAccess, ControlPlane
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.waiting import wait_for
from windlass.testing.updates import PlayedCluster

from .keeper import CRDS, keeping

pytestmark = pytest.mark.plane

STORED = Path(__file__).parents[2] / "data" / "update_status_stored" / "ended.json"
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{UpdateRecord.RESOURCE.name}"
PATH = UpdateRecord.RESOURCE.path()
ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}

Tree = dict[str, Any]


def store(plane: BlockingAccess, trees: list[Tree]) -> None:
    """Store records as they were, under a schema that takes them, and put the schema of now in its place."""
    ours = next(crd for crd in yaml.safe_load_all(CRDS.read_text()) if crd["metadata"]["name"] == CRD.split("/")[-1])
    loose = copy.deepcopy(ours)
    for version in loose["spec"]["versions"]:
        version.update(schema=ANYTHING, subresources={})
    replace(plane, loose)
    for tree in trees:
        body = {**tree, "metadata": {"name": tree["metadata"]["name"]}}
        # The API server serves a changed schema a little later, and refuses or prunes until then.
        assert wait_for(lambda body=body: stored_whole(plane, body), seconds=PATIENCE)  # type: ignore[misc]
    replace(plane, ours)
    assert wait_for(lambda: refuses(plane), seconds=PATIENCE)


def replace(plane: BlockingAccess, crd: Tree) -> None:
    found = plane.rest.request("GET", CRD)
    plane.rest.request("PUT", CRD, {**found, "spec": crd["spec"]})


def stored_whole(plane: BlockingAccess, body: Tree) -> bool | None:
    try:
        created = plane.rest.request("POST", PATH, body)
    except Refused:
        return None
    if body.keys() <= created.keys():
        return True
    plane.rest.request("DELETE", f"{PATH}/{body['metadata']['name']}")
    return None


def refuses(plane: BlockingAccess) -> bool | None:
    """Whether a record without spec is refused: then the schema of now is served."""
    body = {"apiVersion": UpdateRecord.RESOURCE.api_version, "kind": "UpdateRecord", "metadata": {"name": "probe"}}
    try:
        plane.rest.request("POST", f"{PATH}?dryRun=All", body)
    except Refused as refused:
        return True if "spec" in str(refused) else None
    return None


async def test_records_are_moved_to_spec_and_status_and_lose_nothing(
    plane: ControlPlane, account: Path, admin: Client, cluster: PlayedCluster, tmp_path: Path
) -> None:
    trees = json.loads(STORED.read_text(encoding="utf-8"))["records"]
    await asyncio.to_thread(store, plane.blocking, trees)
    kept = {found.name: found.tree() for found in (await admin.list(UpdateRecord)).items}
    assert {name: {key: tree.get(key) for key in FORMER} for name, tree in kept.items()} == {
        tree["metadata"]["name"]: {key: tree.get(key) for key in FORMER} for tree in trees
    }

    async def all_of() -> list[Tree]:
        return [found.tree() for found in (await admin.list(UpdateRecord)).items]

    async with keeping(account, tmp_path, "--no-leader-elect"):
        moved = await eventually(all_of, lambda found: not any(one.keys() & set(FORMER) for one in found))
    for tree in trees:
        (now,) = [one for one in moved if one["metadata"]["name"] == tree["metadata"]["name"]]
        assert (now["spec"]["target"], now["spec"]["startedAt"]) == (tree["target"], tree["started"])
        assert now["status"]["state"] == tree["state"]
        for field in ("operators", "pools", "nodes", "troubles"):
            assert now["status"].get(field, []) == tree.get(field, [])
        await admin.delete(UpdateRecord, now["metadata"]["name"])
