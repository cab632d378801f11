"""Machines of AWS to decide about, beside those of OpenStack in `cases`."""

from typing import Any

from windlass.machine_sync.platforms import AWS

from .cases import CAPI_MACHINE, INFRA, MAPI_MACHINE, Tree, changed

LONE = changed(MAPI_MACHINE, metadata__ownerReferences=None)
AWS_VALUE: Tree = {
    "apiVersion": "machine.openshift.io/v1beta1",
    "kind": "AWSMachineProviderConfig",
    "ami": {"id": "ami-1"},
    "instanceType": "m6i.large",
    "placement": {"region": "us-east-1", "availabilityZone": "us-east-1a"},
    "subnet": {"id": "subnet-1"},
    "userDataSecret": {"name": "worker-user-data"},
    "securityGroups": [{"id": "sg-1"}],
}
AWS_INFRASTRUCTURE: Tree = {
    "metadata": {"name": "cluster", "uid": "i"},
    "status": {"infrastructureName": "c", "platformStatus": {"type": "AWS", "aws": {"region": "us-east-1"}}},
}
MASTER = {"machine.openshift.io/cluster-api-machine-role": "master"}


def on_aws(*, labels: Any = None, load_balancers: Any = None, cluster: Tree | None = None) -> Tree:
    value = changed(AWS_VALUE, loadBalancers=load_balancers)
    machine = changed(
        LONE, spec__providerSpec__value=value, metadata__labels=labels, spec__providerID="aws:///us-east-1a/i-1"
    )
    spec = cluster if cluster is not None else {"controlPlaneLoadBalancer": {"name": "int", "loadBalancerType": "nlb"}}
    return {
        "machine_api": machine,
        "cluster_api": None,
        "infra_machine": None,
        "infra_cluster": {
            "metadata": {"name": "c", "namespace": "openshift-cluster-api", "uid": "c"},
            "spec": {"region": "us-east-1", **spec},
        },
        "infrastructure": AWS_INFRASTRUCTURE,
        "platform": AWS,
    }


def on_aws_under_cluster_api(*, region: str = "", user_data: str | None = None) -> Tree:
    """A Machine of Cluster API without a mirror yet, of a set that has one."""
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "w-0-infra"}
    return {
        "cluster_api": changed(
            CAPI_MACHINE,
            spec__infrastructureRef=reference,
            spec__providerID="aws:///us-east-1a/i-1",
            spec__bootstrap={"dataSecretName": user_data} if user_data else {},
        ),
        "machine_api": None,
        "infra_machine": changed(INFRA, spec={"ami": {"id": "ami-1"}, "instanceType": "m6i.large"}),
        "infra_cluster": {
            "metadata": {"name": "c", "namespace": "openshift-cluster-api", "uid": "c"},
            "spec": {"region": region},
        },
        "platform": AWS,
    }
