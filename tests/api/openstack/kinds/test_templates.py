"""Templates stay as they are once something was made from them, except in the plan of a topology."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import pytest

from tests.patience import PATIENCE
from windlass.openstack.policies import policies
from windlass.testing.plane.facade import PlaneAccess
from windlass.testing.plane.waiting import wait_for

from .both import LEAST, OSCT, OSMT, OURS, UUID, Kinds, kinds_of, with_paths

pytestmark = pytest.mark.plane

PORT = {"network": {"id": UUID}, "allowedAddressPairs": [{"ipAddress": "10.0.0.1"}]}
PLAN = {"topology.cluster.x-k8s.io/dry-run": ""}
PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
SPECS = {
    OSMT: with_paths(LEAST[OSMT], {"template.spec.ports": [PORT]}),
    OSCT: LEAST[OSCT],
}


@pytest.fixture(scope="module")
def policed(windlass_module_plane: PlaneAccess) -> Iterator[Kinds]:
    """Our kinds in a group of their own, and our policies for that group."""
    plane = windlass_module_plane.blocking
    for kinds in kinds_of(plane, {kind: OURS[kind] for kind in SPECS}):
        documents = [msgspec.to_builtins(document) for policy in policies() for document in policy.documents()]
        for document in documents:
            for rule in document["spec"].get("matchConstraints", {}).get("resourceRules", ()):
                rule["apiGroups"] = [kinds.group]
        for kind, spec in SPECS.items():
            kinds.create(kind, "t", {"spec": spec})
        plane.apply(*documents)
        for kind, path in ((OSMT, "template.spec.trunk"), (OSCT, "template.spec.disablePortSecurity")):
            in_force = partial(refusal, kinds, kind, {"spec": with_paths({}, {path: True})})
            assert wait_for(lambda refused=in_force: refused() or None, seconds=PATIENCE)  # type: ignore[misc]
        yield kinds
        for document in reversed(documents):
            plural = PLURALS[document["kind"]]
            kinds.rest.request("DELETE", f"/apis/{document['apiVersion']}/{plural}/{document['metadata']['name']}")


def refusal(kinds: Kinds, kind: str, change: dict[str, Any]) -> str:
    return kinds.refusal_of_change(kind, "t", change)


@pytest.mark.parametrize(
    ("kind", "changes", "admitted"),
    [
        (OSMT, {"template.spec.flavor": "m1.small"}, False),
        (OSMT, {"template.spec.flavor": None, "template.spec.flavorID": "1"}, False),
        (OSMT, {"template.spec.tags": ["a"]}, False),
        (OSMT, {"template.spec.sshKeyName": None}, False),
        (OSMT, {"template.spec.ports": [{**PORT, "allowedAddressPairs": []}]}, True),
        (OSMT, {"template.spec.ports": [{"network": {"id": UUID}}]}, True),
        (OSMT, {"template.spec.ports": [{**PORT, "trunk": True}]}, False),
        (OSMT, {"template.spec.ports": [PORT, PORT]}, False),
        (OSMT, {"template.spec.ports": None}, False),
        (OSCT, {"template.spec.tags": ["a"]}, False),
        (OSCT, {"template.spec.identityRef.name": "rotated"}, False),
    ],
    ids=str,
)
def test_a_template_may_change_in_the_address_pairs_of_its_ports(
    policed: Kinds, kind: str, changes: dict[str, Any], admitted: bool
) -> None:
    spec = with_paths(SPECS[kind], changes)["template"]["spec"]
    before = SPECS[kind]["template"]["spec"]
    change = {"spec": {"template": {"spec": {key: spec.get(key) for key in before | spec}}}}
    refused = refusal(policed, kind, change)
    assert (refused == "") is admitted, refused
    assert admitted or "is immutable" in refused
    plan = {**change, "metadata": {"annotations": PLAN}}
    assert refusal(policed, kind, plan) == "", "the plan of a topology may change everything"


def test_labels_of_templates_may_change(policed: Kinds) -> None:
    for kind in SPECS:
        assert refusal(policed, kind, {"metadata": {"labels": {"a": "b"}}}) == ""


def test_the_annotation_of_a_plan_is_no_way_around(policed: Kinds) -> None:
    change = {"metadata": {"annotations": PLAN}, "spec": {"template": {"spec": {"flavor": "m1.small"}}}}
    assert "is immutable" in policed.refusal_of_change(OSMT, "t", change, dry_run=False)
