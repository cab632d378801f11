"""What became of a request to update."""

import pytest
from msgspec import structs

from windlass.api.config import ClusterVersion, ClusterVersionSpec, DesiredUpdate, Release, UpdateHistory
from windlass.api.meta import PlainCondition
from windlass.update_status.assessment import assess
from windlass.update_status.assessment.request import insights_of_request, request_of
from windlass.update_status.report import Impact, Insight, Level, Reference, Request, RequestState

from .objects import PREVIOUS, TARGET, after, cluster_version, item, operator, said, sources

IDLE = (said("Progressing", "False"), said("Failing", "False"))
LOADED = said("ReleaseAccepted", "True", 0, reason="PayloadLoaded", message=f'Payload loaded version="{PREVIOUS}"')
BOTH = DesiredUpdate(version=TARGET, image="quay.io/r@sha256:new")


def failed(version: str, image: str = "quay.io/r@sha256:new", *, reason: str = "RetrievePayload") -> PlainCondition:
    text = f'Retrieving payload failed version="{version}" image="{image}" failure=The update cannot be verified'
    return said("ReleaseAccepted", "False", 5, reason=reason, message=text)


def version(asked: DesiredUpdate | None, *conditions: PlainCondition, desired: Release | None = None) -> ClusterVersion:
    done: list[UpdateHistory] = [item(PREVIOUS, started=-200, completed=-100)]
    found = cluster_version(*IDLE, *conditions, history=done, desired=PREVIOUS)
    status = structs.replace(found.status, desired=desired or Release(version=PREVIOUS, image="quay.io/r@sha256:old"))
    return structs.replace(found, spec=ClusterVersionSpec(desired_update=asked), status=status)


PENDING, REFUSED = RequestState.PENDING, RequestState.REFUSED


@pytest.mark.parametrize(
    ("asked", "conditions", "state"),
    [
        (None, (LOADED,), None),
        (None, (failed(TARGET),), None),
        (DesiredUpdate(), (failed(TARGET),), None),
        (DesiredUpdate(version=PREVIOUS, image="mirror.example.org/r@sha256:old"), (LOADED,), None),
        (DesiredUpdate(image="quay.io/r@sha256:old"), (LOADED,), None),
        (BOTH, (), PENDING),
        (BOTH, (LOADED,), PENDING),
        (BOTH, (said("ReleaseAccepted", "Unknown", 5, reason="RetrievePayload"),), PENDING),
        (BOTH, (failed(TARGET),), REFUSED),
        (BOTH, (said("ReleaseAccepted", "False", 5, reason="PreconditionChecks", message="not upgradeable"),), REFUSED),
        (BOTH, (failed("4.15.9"),), PENDING),
        (DesiredUpdate(image="quay.io/r@sha256:new"), (failed(""),), REFUSED),
        (DesiredUpdate(image="quay.io/r@sha256:new"), (failed("", "quay.io/r@sha256:third"),), PENDING),
        (DesiredUpdate(version=TARGET), (failed(TARGET, "quay.io/other"),), REFUSED),
        (DesiredUpdate(version=PREVIOUS, architecture="Multi"), (LOADED,), PENDING),
        (None, (said("Invalid", "True", 5, reason="InvalidClusterVersion"),), REFUSED),
        (BOTH, (said("Invalid", "False", 5), LOADED), PENDING),
    ],
)
def test_a_request_is_refused_only_by_a_condition_that_speaks_of_it(
    asked: DesiredUpdate | None, conditions: tuple[PlainCondition, ...], state: RequestState | None
) -> None:
    found = request_of(version(asked, *conditions))
    assert (found.state if found else None) is state


@pytest.mark.parametrize("observed", [1, 2])
def test_the_observed_generation_decides_nothing(observed: int) -> None:
    found = version(BOTH, LOADED)
    metadata = structs.replace(found.metadata, generation=2)
    status = structs.replace(found.status, observed_generation=observed)
    request = request_of(structs.replace(found, metadata=metadata, status=status))
    assert request == Request(target=TARGET, state=PENDING)


def test_a_migration_to_several_architectures_has_begun_when_the_release_is_one() -> None:
    asked = DesiredUpdate(version=PREVIOUS, architecture="Multi")
    assert request_of(version(asked, LOADED, desired=Release(version=PREVIOUS, architecture="Multi"))) is None
    found = request_of(version(asked, LOADED))
    assert found is not None
    assert found.target == f"{PREVIOUS} for architecture Multi"


def the_insight(*conditions: PlainCondition, asked: DesiredUpdate | None = BOTH) -> Insight:
    (found,) = insights_of_request(request_of(version(asked, *conditions)), "version")
    return found


def test_a_refusal_is_told_with_the_message_of_the_operator_and_a_remedy() -> None:
    found = the_insight(failed(TARGET))
    assert found == Insight(
        level=Level.ERROR,
        impact=Impact.UPDATE_STALLED,
        summary="The update to 4.16.0 was refused (RetrievePayload)",
        description='Retrieving payload failed version="4.16.0" image="quay.io/r@sha256:new" '
        "failure=The update cannot be verified",
        remedy="See whether the nodes reach the image and its signature; then ask again, or take the request back with "
        "`oc adm upgrade --clear`.",
        reference="",
        started=after(5),
        resources=(Reference("config.openshift.io", "clusterversions", "version"),),
    )


@pytest.mark.parametrize(
    ("condition", "summary", "remedy"),
    [
        (
            said("ReleaseAccepted", "False", 5, reason="PreconditionChecks"),
            "The update to 4.16.0 was refused (PreconditionChecks)",
            "Correct the precondition that the message names",
        ),
        (said("ReleaseAccepted", "False", 5), "The update to 4.16.0 was refused", "Correct what the message names"),
        (
            said("Invalid", "True", 5, reason="InvalidClusterVersion"),
            "The update to 4.16.0 was refused (InvalidClusterVersion)",
            "Correct spec of ClusterVersion version",
        ),
    ],
)
def test_each_kind_of_refusal_has_a_remedy_of_its_own(condition: PlainCondition, summary: str, remedy: str) -> None:
    found = the_insight(condition)
    assert found.summary == summary
    assert found.description == "The Cluster Version Operator gives no reason."
    assert found.remedy.startswith(remedy)


def test_an_invalid_spec_without_an_update_names_no_target() -> None:
    found = the_insight(said("Invalid", "True", 5, reason="InvalidClusterVersion", message="bad"), asked=None)
    assert found.summary == "The request of ClusterVersion was refused (InvalidClusterVersion)"


def test_a_request_without_an_answer_is_information() -> None:
    found = the_insight(LOADED)
    assert (found.level, found.summary) == (Level.INFO, "The update to 4.16.0 was asked for, and is not accepted yet")


def test_a_cluster_at_rest_tells_of_the_refusal_and_oc_does_not() -> None:
    found = assess(sources(operator("dns", version=PREVIOUS), version=version(BOTH, failed(TARGET))), now=after(9))
    assert not found.updating
    assert found.control_plane.refused
    assert [(one.summary, one.complete) for one in found.insights] == [
        ("The update to 4.16.0 was refused (RetrievePayload)", False)
    ]


def test_an_update_that_goes_on_tells_of_the_refusal_of_the_next_one() -> None:
    running = cluster_version(said("Progressing", "True"), said("Failing", "False"), failed("4.16.9"))
    asked = structs.replace(running, spec=ClusterVersionSpec(desired_update=DesiredUpdate(version="4.16.9")))
    found = assess(sources(version=asked), now=after(9))
    assert found.updating
    assert "The update to 4.16.9 was refused (RetrievePayload)" in [one.summary for one in found.insights]
