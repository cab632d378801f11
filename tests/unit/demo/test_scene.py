"""What expectations ask of a scene, and the sentences when it is missing."""

import pytest
from msgspec.structs import replace

from tests.unit.scenes import having, lacking, present
from windlass.api import capi, mapi
from windlass.demo.scene import Scene
from windlass.demo.story import Missing, need

READY = {"type": "Ready", "status": "True", "reason": "Well", "message": "it runs"}
SCENE = having(
    Scene(version="v1.36.3", unwatched=(), ready=True, leaders=("one", "two")), present(capi.Machine, "m", READY)
)


def test_an_object_has_to_exist_in_its_own_api() -> None:
    assert SCENE.needs(capi.Machine, "m").metadata.name == "m"
    with pytest.raises(Missing, match=r"^there is no Machine\.machine\.openshift\.io m$"):
        SCENE.needs(mapi.Machine, "m")
    with pytest.raises(Missing, match=r"^there is no Machine\.cluster\.x-k8s\.io m$"):
        lacking(SCENE, capi.Machine).needs(capi.Machine, "m")


def test_a_condition_that_is_not_as_expected_is_told_as_it_is() -> None:
    assert SCENE.needs_condition(capi.Machine, "m", "Ready", reason="Well") == READY
    with pytest.raises(Missing, match=r"^Machine\.cluster\.x-k8s\.io m: Ready is True Well: it runs$"):
        SCENE.needs_condition(capi.Machine, "m", "Ready", "False")
    with pytest.raises(Missing, match=r"^Machine\.cluster\.x-k8s\.io m: Ready is True Well: it runs$"):
        SCENE.needs_condition(capi.Machine, "m", "Ready", reason="Else")
    with pytest.raises(Missing, match=r"^Machine\.cluster\.x-k8s\.io m: Paused is not set$"):
        SCENE.needs_condition(capi.Machine, "m", "Paused")


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"version": ""}, "the API server does not answer"),
        ({"unwatched": None}, "nothing can be watched yet"),
        ({"unwatched": ("nodes", "pods")}, "nodes, pods cannot be watched"),
    ],
)
def test_kinds_are_there_when_all_are_watched(flaw: dict[str, object], said: str) -> None:
    SCENE.needs_kinds()
    with pytest.raises(Missing, match=f"^{said}$"):
        replace(SCENE, **flaw).needs_kinds()


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ({"ready": False}, "Windlass is not ready"),
        ({"leaders": ("one", "")}, "a Lease of Windlass has no holder"),
        ({"leaders": ()}, "a Lease of Windlass has no holder"),
    ],
)
def test_windlass_works_when_it_is_ready_and_holds_every_lease(flaw: dict[str, object], said: str) -> None:
    assert SCENE.needs_windlass() == "one"
    with pytest.raises(Missing, match=f"^{said}$"):
        replace(SCENE, **flaw).needs_windlass()


def test_a_need_is_a_value_or_a_sentence() -> None:
    assert need("there", "nothing is there") == "there"
    with pytest.raises(Missing, match=r"^nothing is there$"):
        need("", "nothing is there")
