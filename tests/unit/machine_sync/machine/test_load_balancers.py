"""Load balancers of control-plane machines, as the decision sees them: they must be those of the AWSCluster."""

import pytest

from windlass.kube.control.plan import Retry

from .aws_cases import MASTER, on_aws
from .cases import Tree, condition, decided, settled, writes

INT, EXT = {"name": "int", "type": "network"}, {"name": "ext", "type": "classic"}
TWO = {
    "controlPlaneLoadBalancer": {"name": "int", "loadBalancerType": "nlb"},
    "secondaryControlPlaneLoadBalancer": {"name": "ext", "loadBalancerType": "elb"},
}


@pytest.mark.parametrize(
    ("case", "errors"),
    [
        pytest.param(on_aws(load_balancers=[INT]), ["not supported for non-control plane"], id="a-worker-with-some"),
        pytest.param(on_aws(labels=MASTER), ['must include load balancer named "int"'], id="a-master-without"),
        pytest.param(
            on_aws(labels=MASTER, load_balancers=[{"name": "int", "type": "classic"}]),
            ['load balancer "int" must be of type "network" to match AWSCluster'],
            id="the-wrong-type",
        ),
        pytest.param(on_aws(labels=MASTER, load_balancers=[INT]), [], id="the-same"),
        pytest.param(on_aws(labels=MASTER, load_balancers=[EXT, INT], cluster=TWO), [], id="in-another-order"),
        pytest.param(
            on_aws(labels=MASTER, load_balancers=[INT, EXT]), ['unexpected load balancer "ext"'], id="one-too-many"
        ),
        pytest.param(
            on_aws(labels=MASTER, load_balancers=[{"name": "int", "type": "classic"}, {"name": "x"}], cluster=TWO),
            ['"int" must be of type', 'unexpected load balancer "x"', 'must include load balancer named "ext"'],
            id="all-errors-at-once",
        ),
        pytest.param(
            on_aws(labels=MASTER, load_balancers=[INT], cluster={}),
            ["no control plane load balancer configured on AWSCluster"],
            id="none-on-the-cluster",
        ),
        pytest.param(on_aws(), [], id="a-worker-without"),
    ],
)
def test_load_balancers_must_be_those_of_the_cluster(case: Tree, errors: list[str]) -> None:
    plan = decided(**case)
    if not errors:
        assert settled(**case)["machine_api"]["status"]["conditions"][0]["status"] == "True"
        return
    assert writes(plan) == [("Merge status", "machine_api")]
    assert condition(plan)["reason"] == "FailedToConvertMAPIMachineToCAPI"
    for error in errors:
        assert error in condition(plan)["message"]
    assert isinstance(plan.next, Retry)
