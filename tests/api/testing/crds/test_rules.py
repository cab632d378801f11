"""Our CRDs of foreign kinds on the real API server, and CRDs that were lax before they were strict."""

import copy
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.testing.crds import documents, lax
from windlass.testing.crds.ours import foreign
from windlass.testing.plane.access import BlockingAccess, found
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.facade import PlaneAccess
from windlass.testing.plane.waiting import wait_for

pytestmark = pytest.mark.plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.mark.parametrize("crd", foreign(), ids=lambda crd: crd["metadata"]["name"])
def test_the_api_server_takes_each_crd_under_strict_validation(
    windlass_plane: PlaneAccess, crd: dict[str, Any]
) -> None:
    mine = _in_a_group_of_its_own(crd, "accept.example.org")
    windlass_plane.blocking.rest.request("POST", f"{CRDS}?fieldValidation=Strict&dryRun=All", mine)


class LateRules:
    """A Machine kind in a group of its own that takes anything until its rules arrive."""

    def __init__(self, plane: BlockingAccess) -> None:
        machine = documents("machine.openshift.io")[0]
        group = f"late-{uuid.uuid4().hex[:8]}.example.org"
        self._api_version = f"{group}/v1beta1"
        self._path = f"/apis/{self._api_version}/namespaces/default/machines"
        self._plane = plane
        self._strict = _in_a_group_of_its_own(machine, group)
        plane.apply_crds(lax(self._strict))

    def create(self, name: str, content: dict[str, Any]) -> dict[str, Any]:
        body = {"apiVersion": self._api_version, "kind": "Machine", "metadata": {"name": name}} | content
        created: dict[str, Any] = self._plane.rest.request("POST", self._path, body)
        return created

    def get(self, name: str) -> dict[str, Any]:
        stored: dict[str, Any] = self._plane.rest.request("GET", f"{self._path}/{name}")
        return stored

    def arrive(self) -> None:
        """Bring the rules, and wait until they hold: a changed schema takes effect a moment after it is stored."""
        self._plane.apply_crds(self._strict)
        if wait_for(self._hold, seconds=PATIENCE) is None:
            pytest.fail(f"the strict schema did not take effect within {PATIENCE:.0f} s")

    def _hold(self) -> bool | None:
        try:
            self._plane.rest.request(
                "POST",
                f"{self._path}?dryRun=All",
                {
                    "apiVersion": self._api_version,
                    "kind": "Machine",
                    "metadata": {"name": "probe"},
                    "spec": {"authoritativeAPI": "Nobody"},
                },
            )
        except Refused as refused:
            return True if refused.status == 422 else None
        return None

    def remove(self) -> None:
        path = f"{CRDS}/{self._strict['metadata']['name']}"
        self._plane.rest.request("DELETE", path)
        wait_for(lambda: True if found(self._plane.rest, path) is None else None, seconds=PATIENCE)


@pytest.fixture
def late_rules(windlass_plane: PlaneAccess) -> Iterator[LateRules]:
    rules = LateRules(windlass_plane.blocking)
    yield rules
    rules.remove()


def test_poison_stays_stored_when_the_rules_arrive(late_rules: LateRules) -> None:
    poisons: dict[str, dict[str, Any]] = {
        "a-string-for-a-spec": {"spec": "not an object"},
        "unknown-enum": {"spec": {"authoritativeAPI": "Nobody"}},
        "numbers-for-hooks": {"spec": {"authoritativeAPI": "ClusterAPI", "lifecycleHooks": [1, 2]}},
        "no-spec": {},
    }
    uids = {name: late_rules.create(name, poison)["metadata"]["uid"] for name, poison in poisons.items()}
    late_rules.arrive()
    for name, poison in poisons.items():
        stored = late_rules.get(name)
        assert stored["metadata"]["uid"] == uids[name]
        assert stored.get("spec") == poison.get("spec"), name


def test_a_null_that_was_stored_before_is_not_shown_by_the_rules(late_rules: LateRules) -> None:
    late_rules.create("null-hooks", {"spec": {"authoritativeAPI": "ClusterAPI", "lifecycleHooks": None}})
    late_rules.arrive()
    assert late_rules.get("null-hooks")["spec"] == {"authoritativeAPI": "ClusterAPI"}


def test_defaults_of_the_rules_show_in_objects_that_were_stored_before(late_rules: LateRules) -> None:
    late_rules.create("old", {"spec": {"lifecycleHooks": [1, 2]}})
    late_rules.arrive()
    assert late_rules.get("old")["spec"] == {"authoritativeAPI": "MachineAPI", "lifecycleHooks": [1, 2]}


def _in_a_group_of_its_own(crd: Mapping[str, Any], group: str) -> dict[str, Any]:
    """The plane is shared with other tests: whoever changes a CRD changes a copy under another group."""
    mine = copy.deepcopy(dict(crd))
    mine["spec"]["group"] = group
    mine["metadata"] = {"name": f"{crd['spec']['names']['plural']}.{group}"}
    return mine
