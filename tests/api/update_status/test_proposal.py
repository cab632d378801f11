"""The worked instance of the proposal, on the real API server with our CRD."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from windlass.api.update import UpdateStatus
from windlass.testing.plane.access import BlockingAccess
from windlass.update_status.document import read
from windlass.update_status.times import moment

pytestmark = pytest.mark.plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATH = UpdateStatus.RESOURCE.path()
PROPOSAL = Path(__file__).parents[3] / "docs" / "proposals" / "update-status.md"

Tree = dict[str, Any]


def instance() -> Tree:
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", PROPOSAL.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    tree: Tree = yaml.safe_load(text)
    return tree


def test_the_api_server_takes_it_whole(installed: BlockingAccess) -> None:
    plane = installed
    body = instance()
    created = plane.rest.request("POST", f"{PATH}?fieldValidation=Strict", {**body, "status": {}})
    whole = {**body, "metadata": created["metadata"]}
    plane.rest.request("PUT", f"{PATH}/cluster/status?fieldValidation=Strict", whole)
    assert plane.rest.request("GET", f"{PATH}/cluster")["status"] == body["status"]


def test_it_has_an_insight_of_each_type_and_a_report_can_be_drawn_from_it() -> None:
    body = instance()
    places = (body["status"]["controlPlane"], *body["status"]["workerPools"])
    found = [entry["insight"]["type"] for one in places for each in one["informers"] for entry in each["insights"]]
    assert sorted(found) == ["ClusterOperator", "ClusterVersion", "Health", "MachineConfigPool", "Node"]
    status = msgspec.convert(body, UpdateStatus).status
    report = read(status, now=moment("2026-01-01T00:12:03Z"))
    assert [insight.summary for insight in report.insights] == [
        "Cluster Operator monitoring is degraded (UpdatingPrometheusFailed)"
    ]
    assert report.updating
