"""A provider fills in any field that our types know: no infra machine is recreated for it.

The infra machine of a mirror has a note of what conversion gave it, field by field. A difference counts where
conversion makes something else now.
"""

from collections.abc import Callable
from functools import partial

import pytest

from windlass.kube.control.plan import Merge
from windlass.kube.verbs import PatchType
from windlass.machine_sync.constants import MIRRORED_SPEC_ANNOTATION
from windlass.machine_sync.platforms import OPENSTACK, Platform
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader

from ..mirroring.provider_defaults import filled, known_fields
from .cases import MAPI_MACHINE, PAUSED, Tree, changed, decided, rounds, settled, under_machine_api, writes
from .defaults_cases import CASES, LOOKS, only
from .migration_cases import moving, says_paused, under_cluster_api
from .world import THEIRS, mapi_of, reconciled, synchronized, world

NOTE = f"metadata__annotations__{MIRRORED_SPEC_ANNOTATION}"
Complete = Callable[[Tree], Tree]


async def looked_at(platform: Platform, case: Tree, complete: Complete) -> tuple[MemoryApi, list[int]]:
    """The world after a few looks, and how much each wrote. The provider completes what it has just been given."""
    api = world(**{"platform": platform, **case})
    done: set[str] = set()
    wrote = []
    for _ in range(LOOKS):
        rest = await reconciled(api, MemoryReader(api))
        wrote.append(rest.writes)
        for infra in api.listing(platform.infra_machine):
            if infra.metadata.uid not in done:
                done.add(infra.metadata.uid)
                body = {"spec": complete(infra.tree()["spec"])}
                await api.patch(platform.infra_machine, infra.name, body, type=PatchType.MERGE, namespace=THEIRS)
    return api, wrote


@pytest.mark.parametrize(("platform", "case"), CASES)
async def test_a_mirror_is_at_rest_whatever_field_its_provider_fills_in(platform: Platform, case: Tree) -> None:
    restless = []
    for path, default in known_fields(platform).items():
        api, wrote = await looked_at(platform, case, partial(filled, path=path, default=default))
        if wrote[1:] != [0] * (LOOKS - 1) or synchronized(mapi_of(api))["status"] != "True":
            restless.append(path)
    assert restless == []


def overwritten(spec: Tree, *, key: str, value: object) -> Tree:
    return {**spec, key: value}


@pytest.mark.parametrize(("platform", "case"), CASES)
async def test_a_mirror_is_at_rest_whatever_value_its_provider_changes(platform: Platform, case: Tree) -> None:
    """What can be changed in place is put back, and nothing is recreated."""
    restless = []
    for path, other in known_fields(platform).items():
        if len(path) > 1:
            continue
        api, wrote = await looked_at(platform, case, partial(overwritten, key=path[0], value=other))
        born = {
            change.tree["metadata"]["uid"] for change in api.changes_since(0) if change.kind is platform.infra_machine
        }
        if wrote[-1] or len(born) != 1 or synchronized(mapi_of(api))["status"] != "True":
            restless.append(path)
    assert restless == []


def filled_in(case: Tree, **fields: object) -> Tree:
    """The case with these fields of the infra machine's spec, which its provider filled in."""
    return {
        **case,
        "infra_machine": changed(case["infra_machine"], **{f"spec__{path}": value for path, value in fields.items()}),
    }


def asked(case: Tree, **fields: object) -> Tree:
    """The case with these fields of the provider spec of the authority, and a new generation."""
    value = {f"spec__providerSpec__value__{path}": wanted for path, wanted in fields.items()}
    return {**case, "machine_api": changed(case["machine_api"], **value, metadata__generation=9)}


class TestAChangeOfTheAuthority:
    def test_of_what_can_be_changed_is_written_and_what_the_provider_filled_in_stays(self) -> None:
        case = filled_in(under_machine_api(), sshKeyName="theirs")
        end = settled(**asked(case, cloudName="other"))
        assert end["infra_machine"]["metadata"]["uid"] == case["infra_machine"]["metadata"]["uid"]
        assert end["infra_machine"]["spec"]["identityRef"]["cloudName"] == "other"
        assert end["infra_machine"]["spec"]["sshKeyName"] == "theirs"

    def test_of_what_the_provider_filled_in_recreates_it(self) -> None:
        case = filled_in(under_machine_api(), sshKeyName="theirs")
        end = settled(**asked(case, keyName="mine"))
        assert end["infra_machine"]["metadata"]["uid"] == "new-infra-uid"
        assert end["infra_machine"]["spec"]["sshKeyName"] == "mine"

    def test_that_takes_a_field_away_recreates_it(self) -> None:
        case = under_machine_api(machine_api=changed(MAPI_MACHINE, spec__providerSpec__value__keyName="mine"))
        end = settled(**asked(case, keyName=None))
        assert "sshKeyName" not in end["infra_machine"]["spec"]

    def test_to_what_the_provider_made_of_it_is_only_noted(self) -> None:
        case = filled_in(under_machine_api(), flavor="m1.resized")
        first, last = rounds(**asked(case, flavor="m1.resized"))
        assert writes(first) == [("Merge", "infra_machine")]
        (noted,) = [action for action in first.needed if isinstance(action, Merge)]
        assert [*noted.patch["metadata"]["annotations"]] == [MIRRORED_SPEC_ANNOTATION]
        assert writes(last)[-1] == ("Merge status", "machine_api")


class TestAChangeByAStranger:
    def test_of_a_value_that_can_be_changed_is_put_back(self) -> None:
        case = filled_in(under_machine_api(), identityRef__cloudName="stranger")
        end = settled(**case)
        assert end["infra_machine"]["spec"]["identityRef"]["cloudName"] == "openstack"
        assert end["infra_machine"]["metadata"]["uid"] == case["infra_machine"]["metadata"]["uid"]

    @pytest.mark.parametrize("fields", [{"flavor": "m1.other"}, {"trunk": True}, {"identityRef__region": "theirs"}])
    def test_of_anything_else_stays_until_the_note_is_taken_off(self, fields: Tree) -> None:
        case = filled_in(under_machine_api(), **fields)
        assert decided(**case).needed == ()
        end = settled(**{**case, "infra_machine": changed(case["infra_machine"], **{NOTE: None})})
        assert end["infra_machine"]["spec"] == under_machine_api()["infra_machine"]["spec"]


class TestWithoutANote:
    """As an earlier version of ours left it, or OpenShift's own operator."""

    def test_one_that_is_in_sync_is_noted_and_stays(self) -> None:
        case = under_machine_api()
        (plan,) = rounds(**{**case, "infra_machine": changed(case["infra_machine"], **{NOTE: None})})
        assert writes(plan) == [("Merge", "infra_machine")]
        (noted,) = [action for action in plan.needed if isinstance(action, Merge)]
        assert noted.patch == {
            "metadata": {
                "annotations": {
                    MIRRORED_SPEC_ANNOTATION: case["infra_machine"]["metadata"]["annotations"][MIRRORED_SPEC_ANNOTATION]
                }
            }
        }

    async def test_one_that_its_provider_completed_is_recreated_once(self) -> None:
        case = filled_in(under_machine_api(), trunk=True)
        case["infra_machine"] = changed(case["infra_machine"], **{NOTE: None})
        api, wrote = await looked_at(OPENSTACK, case, lambda spec: {**spec, "trunk": True})
        assert wrote[1:] == [0] * (LOOKS - 1)
        assert only(api, OPENSTACK)["spec"]["trunk"] is True


class TestTheNoteIsOfWhatIsPaused:
    """While the provider acts, it and its users change the spec, and the note would no longer be true."""

    def test_it_goes_when_cluster_api_is_let_go(self) -> None:
        end = settled(**says_paused(moving(under_machine_api()), "machine_api"))
        assert MIRRORED_SPEC_ANNOTATION not in end["infra_machine"]["metadata"]["annotations"]

    def test_one_that_another_controller_left_goes_before_the_machine_api_is_authoritative(self) -> None:
        case = under_cluster_api()
        case["infra_machine"] = changed(case["infra_machine"], **{NOTE: "flavor=of-before"})
        end = moving(case)
        assert end["infra_machine"]["metadata"]["annotations"] == {PAUSED: ""}

    def test_the_first_infra_machine_of_cluster_api_has_none(self) -> None:
        machine = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")
        end = settled(machine_api=machine, cluster_api=None, infra_machine=None)
        assert MIRRORED_SPEC_ANNOTATION not in end["infra_machine"]["metadata"]["annotations"]

    def test_it_goes_from_one_that_the_first_machine_of_cluster_api_takes_over(self) -> None:
        machine = changed(MAPI_MACHINE, spec__authoritativeAPI="ClusterAPI", status__authoritativeAPI="ClusterAPI")
        left = under_machine_api()["infra_machine"]
        end = settled(machine_api=machine, cluster_api=None, infra_machine=left)
        assert {PAUSED, MIRRORED_SPEC_ANNOTATION}.isdisjoint(end["infra_machine"]["metadata"]["annotations"])
