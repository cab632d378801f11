"""Beside OpenShift's policies, which exempt its own controllers and nobody else, and which its operator writes back."""

import pytest

from tests.api.machine_sync.stage import Stage, condition
from tests.authorizer import allowed
from windlass.capability.manifests.rights import ServiceAccount
from windlass.machine_sync import policies, rbac
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT

from .policed import Policed, Tree, wait_until_in_force

ABSENT = ServiceAccount("nowhere", "nobody")
OWN = frozenset(
    f"windlass-{name}"
    for name in (
        "machine-api-sync-annotations",
        "cluster-api-sync-annotations",
        "prevent-migration-when-machine-set-deleting",
    )
)
"""Policies that OpenShift has not."""


@pytest.fixture
async def openshift(stage: Stage) -> ServiceAccount:
    """The account of OpenShift's controllers, which policies exempt, with the rights that Machine sync may borrow."""
    theirs = ServiceAccount(stage.namespaces.cluster_api, "capi-controllers")
    documents = policies.documents(namespaces=stage.namespaces, service_account=ABSENT)
    await stage.plane.apply(*(one for one in documents if one["metadata"]["name"] not in OWN))
    ours = DEFAULT_SERVICE_ACCOUNT.within(stage.namespaces.cluster_api)
    granted = rbac.documents(
        namespaces=stage.namespaces, service_account=ours, platforms=[stage.example.name], acts_as=theirs
    )
    await stage.plane.apply(*granted)
    rest = stage.plane.blocking.rest
    where = {"namespace": theirs.namespace}
    await allowed(rest, ours.user, "impersonate", "serviceaccounts", name=theirs.name, **where)
    await allowed(rest, theirs.user, "create", "machines.machine.openshift.io", namespace=stage.namespaces.machine_api)
    async with Policed.by(stage.plane, stage.namespaces) as policed:
        await wait_until_in_force(policed)
    return theirs


async def test_under_its_own_name_it_is_refused(stage: Stage, openshift: ServiceAccount) -> None:
    """What the next test is about: without this it would show nothing."""
    await stage.fleet()
    await stage.machine("w-0")
    await stage.grant()
    async with stage.syncing():
        await stage.in_sync("w-0")
        await stage.resize("w-0", "huge")
        refused = await stage.mirror_that(
            "w-0", lambda tree: condition(tree).get("reason") == "FailedToUpdateMAPIMachine"
        )
        assert "windlass-machine-api-machine-vap" in condition(refused)["message"]


async def test_in_the_name_of_openshifts_controllers_it_is_not(stage: Stage, openshift: ServiceAccount) -> None:
    def resized(tree: Tree) -> bool:
        return bool(stage.example.provider_size(tree) == "huge")

    await stage.fleet()
    await stage.machine("w-0")
    async with stage.syncing(acts_as=openshift.user):
        await stage.in_sync("w-0")
        await stage.resize("w-0", "huge")
        await stage.mirror_that("w-0", resized)
        await stage.in_sync("w-0")
