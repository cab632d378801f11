"""What all policies have in common: who is exempt, where they hold, what they cost."""

import pytest

from windlass.api.meta import KubernetesObject
from windlass.capability.manifests.policy import CREATE, UPDATE, Policy
from windlass.capability.manifests.rights import ServiceAccount
from windlass.machine_sync import policies
from windlass.machine_sync.constants import Namespaces

ALL = policies.policies()
EVERY = pytest.mark.parametrize("policy", ALL, ids=lambda policy: policy.name)
OURS = "system:serviceaccount:windlass-system:windlass-machine-sync"
CONTROLLERS = (
    "system:serviceaccount:openshift-machine-api:machine-api-controllers",
    "system:serviceaccount:openshift-cluster-api:capi-controllers",
)

UPSTREAM = {
    "machine-api-machine-vap",
    "machine-api-machine-set-vap",
    "cluster-api-machine-vap",
    "cluster-api-machine-set-vap",
    "openshift-cluster-api-prevent-setting-of-capi-fields-unsupported-by-mapi",
    "openshift-only-create-mapi-machine-if-authoritative-api-capi",
    "openshift-prevent-authoritative-mapi-machineset-create-when-capi-exists",
    "openshift-validate-capi-machine-creation",
    "openshift-validate-capi-machine-set-creation",
    "openshift-prevent-migration-when-machine-updating",
    "openshift-provide-warning-when-not-synchronized",
    "openshift-mapi-authoritative-api-transition-requires-capi-infrastructure-ready-and-not-deleting",
    "openshift-cluster-api-unsupported-aws-spec-fields",
}
EXEMPT_UPSTREAM = {
    "machine-api-machine-vap",
    "machine-api-machine-set-vap",
    "cluster-api-machine-vap",
    "cluster-api-machine-set-vap",
    "openshift-validate-capi-machine-creation",
    "openshift-validate-capi-machine-set-creation",
    "openshift-mapi-authoritative-api-transition-requires-capi-infrastructure-ready-and-not-deleting",
}


def test_every_policy_of_openshift_has_its_counterpart_and_there_are_more() -> None:
    assert {policy.name for policy in ALL} - UPSTREAM == {
        "machine-api-sync-annotations",
        "cluster-api-sync-annotations",
        "prevent-migration-when-machine-set-deleting",
        "openshift-cluster-api-unsupported-gcp-spec-fields",
        "openshift-cluster-api-unsupported-openstack-spec-fields",
        "cluster-api-unsupported-aws-template-fields",
        "cluster-api-unsupported-gcp-template-fields",
        "cluster-api-unsupported-openstack-template-fields",
    }
    assert {policy.name for policy in ALL} >= UPSTREAM
    assert len({policy.name for policy in ALL}) == len(ALL)


@EVERY
def test_machine_sync_is_exempt_from_every_policy(policy: Policy) -> None:
    assert policy.exempt[0] == OURS


@EVERY
def test_controllers_are_exempt_where_openshift_exempts_them(policy: Policy) -> None:
    assert policy.exempt[1:] == (CONTROLLERS if policy.name in EXEMPT_UPSTREAM else ())


@EVERY
def test_no_update_pays_for_the_twins(policy: Policy) -> None:
    assert policy.twins is None or policy.operations == (CREATE,)


@EVERY
def test_no_label_of_an_object_exempts_it(policy: Policy) -> None:
    document, binding = policy.documents()
    assert "objectSelector" not in str((document, binding))


@EVERY
def test_it_looks_at_the_objects_of_one_namespace(policy: Policy) -> None:
    groups = {kind.RESOURCE.group for kind in policy.kinds}
    here = "openshift-machine-api" if groups == {"machine.openshift.io"} else "openshift-cluster-api"
    assert policy.namespace == here
    assert all(group == "machine.openshift.io" or group.endswith("cluster.x-k8s.io") for group in groups)
    assert set(policy.operations) <= {CREATE, UPDATE}


@EVERY
def test_only_those_warn_that_cannot_know(policy: Policy) -> None:
    of_templates = policy.name.endswith("-template-fields")
    assert policy.warns == (of_templates or policy.name == "openshift-provide-warning-when-not-synchronized")


def test_rules_do_not_depend_on_the_namespaces() -> None:
    namespaces = Namespaces("mapi", "capi")
    documents = policies.documents(namespaces=namespaces, service_account=ServiceAccount("us", "sync"))
    assert "openshift-machine-api" not in str(documents)
    assert "openshift-cluster-api'" not in str(documents)
    assert "system:serviceaccount:us:sync" in str(documents)
    assert "system:serviceaccount:mapi:machine-api-controllers" in str(documents)
    rules = [policy.rules for policy in policies.policies(namespaces=namespaces)]
    assert rules == [policy.rules for policy in ALL]


def test_who_is_exempt_beside_the_controllers_is_so_where_they_are() -> None:
    for policy in policies.policies(exempt=["somebody"]):
        assert policy.exempt[1:] == ((*CONTROLLERS, "somebody") if policy.name in EXEMPT_UPSTREAM else ())


def test_a_platform_that_is_left_out_is_not_named() -> None:
    def kinds(*platforms: str) -> set[type[KubernetesObject]]:
        return {kind for policy in policies.policies(platforms=platforms) for kind in policy.kinds}

    left_out = {kind.RESOURCE.kind for kind in kinds("AWS", "OpenStack") - kinds("OpenStack")}
    assert left_out == {"AWSMachine", "AWSMachineTemplate"}


def test_the_same_is_made_every_time() -> None:
    assert policies.documents() == policies.documents(platforms=["OpenStack", "GCP", "AWS"])
