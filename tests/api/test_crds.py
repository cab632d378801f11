"""The CRDs of foreign kinds on the real API server: what it takes, what it refuses and in which words."""

import copy
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.patience import PATIENCE
from windlass.testing.crds import Foreign, foreign, lax
from windlass.testing.plane.access import BlockingAccess, found
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.facade import PlaneAccess
from windlass.testing.plane.rest import APPLY_PATCH, MERGE_PATCH
from windlass.testing.plane.waiting import wait_for

pytestmark = pytest.mark.plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NOT_DIRECTLY = (
    "The authoritativeAPI field must not transition directly from MachineAPI to ClusterAPI or vice versa. "
    "It must transition through Migrating."
)
NOT_REMOVED = "authoritativeAPI may not be removed once set"
NOT_LOWER = (
    "synchronizedGeneration must not decrease unless authoritativeAPI is transitioning from Migrating to another value"
)

Patch = dict[str, Any]


class Collection:
    """Objects of one kind of the Machine API in one namespace."""

    def __init__(self, plane: BlockingAccess, *, namespace: str, kind: str) -> None:
        self._rest = plane.rest
        self._kind = kind
        self._path = f"/apis/machine.openshift.io/v1beta1/namespaces/{namespace}/{kind.lower()}s"

    def create(self, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        body = {"metadata": {"generateName": "m-"}, "apiVersion": "machine.openshift.io/v1beta1", "kind": self._kind}
        if spec is not None:
            body["spec"] = spec
        created: dict[str, Any] = self._rest.request("POST", f"{self._path}?fieldValidation=Strict", body | more)
        return created

    def patch(self, name: str, patch: Patch) -> dict[str, Any]:
        return self._patch(f"{self._path}/{name}", patch)

    def patch_status(self, name: str, status: Patch) -> dict[str, Any]:
        return self._patch(f"{self._path}/{name}/status", {"status": status})

    def scale(self, name: str, replicas: int) -> dict[str, Any]:
        return self._patch(f"{self._path}/{name}/scale", {"spec": {"replicas": replicas}})

    def apply_status(self, name: str, status: Patch, *, manager: str) -> dict[str, Any]:
        applied: dict[str, Any] = self._rest.request(
            "PATCH",
            f"{self._path}/{name}/status?fieldManager={manager}&force=true&fieldValidation=Strict",
            {
                "apiVersion": "machine.openshift.io/v1beta1",
                "kind": self._kind,
                "metadata": {"name": name},
                "status": status,
            },
            content_type=APPLY_PATCH,
        )
        return applied

    def _patch(self, path: str, patch: Patch) -> dict[str, Any]:
        patched: dict[str, Any] = self._rest.request(
            "PATCH", f"{path}?fieldValidation=Strict", patch, content_type=MERGE_PATCH
        )
        return patched


@pytest.fixture(scope="module")
def plane(windlass_plane: PlaneAccess) -> BlockingAccess:
    windlass_plane.blocking.apply_crds(*foreign(Foreign.MACHINE_API))
    return windlass_plane.blocking


@pytest.fixture(params=["Machine", "MachineSet"])
def objects(request: pytest.FixtureRequest, plane: BlockingAccess, windlass_namespace: str) -> Collection:
    return Collection(plane, namespace=windlass_namespace, kind=request.param)


@pytest.fixture
def machines(plane: BlockingAccess, windlass_namespace: str) -> Collection:
    return Collection(plane, namespace=windlass_namespace, kind="Machine")


@pytest.fixture
def machine_sets(plane: BlockingAccess, windlass_namespace: str) -> Collection:
    return Collection(plane, namespace=windlass_namespace, kind="MachineSet")


def _with_status(objects: Collection, *steps: Patch) -> str:
    """An object that came to its status by these writes; returns its name."""
    name: str = objects.create({})["metadata"]["name"]
    for step in steps:
        objects.patch_status(name, step)
    return name


@pytest.mark.parametrize("crd", foreign(), ids=lambda crd: crd["metadata"]["name"])
def test_the_api_server_takes_each_crd_under_strict_validation(
    windlass_plane: PlaneAccess, crd: dict[str, Any]
) -> None:
    mine = _in_a_group_of_its_own(crd, "accept.example.org")
    windlass_plane.blocking.rest.request("POST", f"{CRDS}?fieldValidation=Strict&dryRun=All", mine)


# ---- defaults and enums


def test_authority_is_the_machine_api_unless_said_otherwise(objects: Collection) -> None:
    assert objects.create({})["spec"]["authoritativeAPI"] == "MachineAPI"
    assert objects.create({"authoritativeAPI": "ClusterAPI"})["spec"]["authoritativeAPI"] == "ClusterAPI"


def test_the_desired_authority_comes_back_when_it_is_removed(objects: Collection) -> None:
    name = objects.create({"authoritativeAPI": "ClusterAPI"})["metadata"]["name"]
    assert objects.patch(name, {"spec": {"authoritativeAPI": None}})["spec"]["authoritativeAPI"] == "MachineAPI"


@pytest.mark.parametrize("value", ["Migrating", "", "machineapi"])
def test_the_desired_authority_is_one_of_the_two_apis(objects: Collection, value: str) -> None:
    _refuses(lambda: objects.create({"authoritativeAPI": value}), 'supported values: "MachineAPI", "ClusterAPI"')


def test_the_desired_authority_may_change_directly(objects: Collection) -> None:
    name = objects.create({})["metadata"]["name"]
    assert objects.patch(name, {"spec": {"authoritativeAPI": "ClusterAPI"}})["spec"]["authoritativeAPI"] == "ClusterAPI"


def test_machines_of_a_set_get_the_default_too(machine_sets: Collection) -> None:
    created = machine_sets.create({"template": {"spec": {"providerSpec": {}}}})
    assert created["spec"]["template"]["spec"]["authoritativeAPI"] == "MachineAPI"
    assert created["spec"]["replicas"] == 1


def test_status_is_dropped_when_an_object_is_created(objects: Collection) -> None:
    assert "status" not in objects.create({}, status={"authoritativeAPI": "ClusterAPI"})


def test_there_is_no_status_authority_but_the_three(objects: Collection) -> None:
    name = _with_status(objects)
    _refuses(lambda: objects.patch_status(name, {"authoritativeAPI": "Nobody"}), "Unsupported value")


def test_the_synchronized_api_is_never_migrating(objects: Collection) -> None:
    name = _with_status(objects, {"synchronizedAPI": "ClusterAPI"})
    _refuses(lambda: objects.patch_status(name, {"synchronizedAPI": "Migrating"}), "Unsupported value")


# ---- rules of status.authoritativeAPI


@pytest.mark.parametrize("first", ["MachineAPI", "ClusterAPI", "Migrating"])
def test_any_authority_may_come_first(objects: Collection, first: str) -> None:
    name = _with_status(objects)
    assert objects.patch_status(name, {"authoritativeAPI": first})["status"]["authoritativeAPI"] == first


@pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI", "Migrating"])
def test_authority_may_not_be_removed(objects: Collection, authority: str) -> None:
    name = _with_status(objects, {"authoritativeAPI": authority, "errorReason": "x"})
    _refuses(lambda: objects.patch_status(name, {"authoritativeAPI": None}), NOT_REMOVED)


@pytest.mark.parametrize(("old", "new"), [("MachineAPI", "ClusterAPI"), ("ClusterAPI", "MachineAPI")])
def test_authority_may_not_pass_directly(objects: Collection, old: str, new: str) -> None:
    name = _with_status(objects, {"authoritativeAPI": old})
    _refuses(lambda: objects.patch_status(name, {"authoritativeAPI": new}), NOT_DIRECTLY)


@pytest.mark.parametrize(("old", "new"), [("MachineAPI", "ClusterAPI"), ("ClusterAPI", "MachineAPI")])
def test_authority_may_pass_through_migrating_and_back(objects: Collection, old: str, new: str) -> None:
    name = _with_status(objects, {"authoritativeAPI": old}, {"authoritativeAPI": "Migrating"})
    assert objects.patch_status(name, {"authoritativeAPI": new})["status"]["authoritativeAPI"] == new
    objects.patch_status(name, {"authoritativeAPI": "Migrating"})
    assert objects.patch_status(name, {"authoritativeAPI": new})["status"]["authoritativeAPI"] == new


def test_authority_may_be_written_again_as_it_is(objects: Collection) -> None:
    name = _with_status(objects, {"authoritativeAPI": "ClusterAPI"})
    objects.patch_status(name, {"authoritativeAPI": "ClusterAPI", "errorReason": "x"})


# ---- rules of status.synchronizedGeneration


def test_the_synchronized_generation_may_be_set_and_rise_and_stay(objects: Collection) -> None:
    name = _with_status(objects, {"authoritativeAPI": "ClusterAPI"})
    for generation in (1, 1, 7):
        status = objects.patch_status(name, {"synchronizedGeneration": generation})["status"]
        assert status["synchronizedGeneration"] == generation


@pytest.mark.parametrize("lower", [2, None])
@pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI", "Migrating"])
def test_the_synchronized_generation_may_not_fall_or_go(objects: Collection, authority: str, lower: int | None) -> None:
    name = _with_status(objects, {"authoritativeAPI": authority, "synchronizedGeneration": 3})
    message = _refuses(lambda: objects.patch_status(name, {"synchronizedGeneration": lower}), NOT_LOWER)
    assert "status.synchronizedGeneration" in message


@pytest.mark.parametrize("lower", [0, 2, None])
@pytest.mark.parametrize("authority", ["MachineAPI", "ClusterAPI"])
def test_leaving_migrating_may_lower_the_synchronized_generation_in_the_same_write(
    objects: Collection, authority: str, lower: int | None
) -> None:
    name = _with_status(objects, {"authoritativeAPI": "Migrating", "synchronizedGeneration": 3})
    status = objects.patch_status(name, {"authoritativeAPI": authority, "synchronizedGeneration": lower})["status"]
    assert status.get("synchronizedGeneration") == lower


def test_after_migrating_was_left_it_is_too_late_to_lower_it(objects: Collection) -> None:
    name = _with_status(
        objects, {"authoritativeAPI": "Migrating", "synchronizedGeneration": 3}, {"authoritativeAPI": "ClusterAPI"}
    )
    _refuses(lambda: objects.patch_status(name, {"synchronizedGeneration": 0}), NOT_LOWER)


def test_entering_migrating_is_no_time_to_lower_it(objects: Collection) -> None:
    name = _with_status(objects, {"authoritativeAPI": "ClusterAPI", "synchronizedGeneration": 3})
    _refuses(
        lambda: objects.patch_status(name, {"authoritativeAPI": "Migrating", "synchronizedGeneration": 0}), NOT_LOWER
    )


def test_the_synchronized_generation_is_never_negative(objects: Collection) -> None:
    name = _with_status(objects, {"authoritativeAPI": "ClusterAPI"})
    _refuses(lambda: objects.patch_status(name, {"synchronizedGeneration": -1}), "greater than or equal to 0")


def test_the_synchronized_generation_is_64_bits_wide(objects: Collection) -> None:
    name = _with_status(objects, {"authoritativeAPI": "ClusterAPI"})
    status = objects.patch_status(name, {"synchronizedGeneration": 2**62})["status"]
    assert status["synchronizedGeneration"] == 2**62


# ---- list types, kept fields, subresources, columns


def _condition(kind: str, reason: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-01-02T03:04:05Z"}


def test_two_writers_apply_a_condition_each(objects: Collection) -> None:
    name = _with_status(objects)
    objects.apply_status(name, {"conditions": [_condition("Synchronized", "Ours")]}, manager="one")
    status = objects.apply_status(name, {"conditions": [_condition("Paused", "Theirs")]}, manager="other")["status"]
    assert {one["type"]: one["reason"] for one in status["conditions"]} == {"Synchronized": "Ours", "Paused": "Theirs"}


@pytest.mark.parametrize("missing", ["type", "status", "lastTransitionTime"])
def test_a_condition_has_a_type_a_status_and_a_time(objects: Collection, missing: str) -> None:
    name = _with_status(objects)
    condition = _condition("Synchronized", "Ours")
    del condition[missing]
    _refuses(lambda: objects.patch_status(name, {"conditions": [condition]}), "Required value")


def test_addresses_are_applied_as_a_whole(machines: Collection) -> None:
    name = _with_status(machines)
    for address in ("10.0.0.1", "10.0.0.2"):
        status = machines.apply_status(
            name, {"addresses": [{"type": "InternalIP", "address": address}]}, manager=f"m-{address}"
        )["status"]
        assert [one["address"] for one in status["addresses"]] == [address]


def test_two_hooks_of_one_name_are_refused(machines: Collection) -> None:
    hook = {"name": "wait", "owner": "somebody"}
    _refuses(lambda: machines.create({"lifecycleHooks": {"preDrain": [hook, hook]}}), "Duplicate value")


def test_fields_that_are_not_declared_are_kept(objects: Collection) -> None:
    created = objects.create({"providerSpec": {"value": {"deep": {"er": 1}}}, "fromTheFuture": {"a": [1]}})
    assert created["spec"]["fromTheFuture"] == {"a": [1]}
    status = objects.patch_status(created["metadata"]["name"], {"fromTheFuture": True})["status"]
    assert status["fromTheFuture"] is True


def test_a_machine_set_scales(machine_sets: Collection) -> None:
    name = machine_sets.create({"replicas": 2})["metadata"]["name"]
    assert machine_sets.scale(name, 5)["spec"]["replicas"] == 5


# ---- poisoned objects


class LateRules:
    """A Machine kind in a group of its own that takes anything until its rules arrive."""

    def __init__(self, plane: BlockingAccess) -> None:
        machine, _ = foreign(Foreign.MACHINE_API)
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
def late_rules(plane: BlockingAccess) -> Iterator[LateRules]:
    rules = LateRules(plane)
    yield rules
    rules.remove()


def test_poison_stays_stored_when_the_rules_arrive(late_rules: LateRules) -> None:
    poisons: dict[str, dict[str, Any]] = {
        "a-string-for-a-spec": {"spec": "not an object"},
        "unknown-enum": {"spec": {"authoritativeAPI": "Nobody"}},
        "numbers-for-hooks": {"spec": {"authoritativeAPI": "ClusterAPI", "lifecycleHooks": [1, 2]}},
        "null-template": {"spec": {"authoritativeAPI": "ClusterAPI", "template": None}},
        "no-spec": {},
    }
    uids = {name: late_rules.create(name, poison)["metadata"]["uid"] for name, poison in poisons.items()}
    late_rules.arrive()
    for name, poison in poisons.items():
        stored = late_rules.get(name)
        assert stored["metadata"]["uid"] == uids[name]
        assert stored.get("spec") == poison.get("spec"), name


def test_defaults_of_the_rules_show_in_objects_that_were_stored_before(late_rules: LateRules) -> None:
    late_rules.create("old", {"spec": {"lifecycleHooks": [1, 2]}})
    late_rules.arrive()
    assert late_rules.get("old")["spec"] == {"authoritativeAPI": "MachineAPI", "lifecycleHooks": [1, 2]}


# ---- tools


def _refuses(write: Callable[[], object], text: str) -> str:
    """That the API server answers 422 with `text` in its message; returns the message."""
    with pytest.raises(Refused) as refused:
        write()
    assert refused.value.status == 422
    assert text in str(refused.value)
    return str(refused.value)


def _in_a_group_of_its_own(crd: dict[str, Any], group: str) -> dict[str, Any]:
    """The plane is shared with other tests: whoever changes a CRD changes a copy under another group."""
    mine = copy.deepcopy(crd)
    mine["spec"]["group"] = group
    mine["metadata"] = {"name": f"{crd['spec']['names']['plural']}.{group}"}
    return mine
