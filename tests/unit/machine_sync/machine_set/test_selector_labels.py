"""Cluster API is authoritative: the template of the mirror matches the mirror's own selector.

Conversion leaves labels with `cluster.x-k8s.io/` in their key behind. The webhook of the Machine API refuses a set
whose selector does not match the labels of its template, and then nothing of the set could be mirrored.
"""

import pytest

from windlass.machine_sync.machine_set.decide import decide
from windlass.model.reader import MemoryReader

from .cases import BEHIND_CLUSTER_API, CAPI_SET, MACHINE_SET_LABEL, NAME, NOW, Tree, changed, snapshot
from .world import at_rest, mapi_of, reconciled

SET_NAME = "cluster.x-k8s.io/set-name"
NAMED = {SET_NAME: NAME, "cluster.x-k8s.io/cluster-name": "c"}
BY_NAME = changed(CAPI_SET, spec__selector={"matchLabels": {SET_NAME: NAME}}, spec__template__metadata__labels=NAMED)


async def template_labels(*, selector: Tree, source: Tree = BY_NAME, template: Tree | None = None) -> Tree:
    """Those of the mirror with this selector, once it is at rest."""
    mirror = changed(BEHIND_CLUSTER_API, spec__selector=selector)
    if template is not None:
        mirror = changed(mirror, spec__template__metadata__labels=template)
    api = await at_rest(machine_api=mirror, cluster_api=source)
    rest = await reconciled(api, MemoryReader(api))
    assert (rest.failed, rest.writes) == (False, 0)
    found = mapi_of(api)
    assert found is not None
    labels: Tree = found["spec"]["template"]["metadata"]["labels"]
    return labels


async def test_a_label_of_cluster_api_stays_if_both_selectors_name_it() -> None:
    assert await template_labels(selector={"matchLabels": {SET_NAME: NAME}}) == {SET_NAME: NAME}


async def test_a_label_that_only_the_selector_of_the_mirror_names_stays() -> None:
    labels = await template_labels(selector={"matchLabels": {MACHINE_SET_LABEL: NAME}})
    assert labels == {MACHINE_SET_LABEL: NAME}


async def test_the_value_is_that_of_the_selector() -> None:
    source = changed(BY_NAME, spec__template__metadata__labels={**NAMED, MACHINE_SET_LABEL: "other"})
    labels = await template_labels(selector={"matchLabels": {MACHINE_SET_LABEL: NAME}}, source=source)
    assert labels == {MACHINE_SET_LABEL: NAME}


@pytest.mark.parametrize(
    ("key", "value"), [pytest.param(SET_NAME, NAME, id="the-source-has-it"), pytest.param("size", "s", id="it-has-it")]
)
async def test_a_label_that_an_expression_names_stays(key: str, value: str) -> None:
    expressions = [{"key": key, "operator": "Exists"}]
    labels = await template_labels(selector={"matchExpressions": expressions}, template={"size": "s", "old": "1"})
    assert labels == {key: value}


def test_what_a_selector_excludes_is_not_invented() -> None:
    expressions = [{"key": "size", "operator": "DoesNotExist"}]
    mirror = changed(
        BEHIND_CLUSTER_API,
        spec__selector={"matchExpressions": expressions},
        spec__template__metadata__labels={},
    )
    plan = decide(snapshot(machine_api=mirror, cluster_api=BY_NAME), now=NOW)
    assert all("size" not in str(getattr(action, "patch", "")) for action in plan.needed)
