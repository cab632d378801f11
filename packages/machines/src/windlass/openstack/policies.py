"""Admission policies: what of templates may not be changed, since machines and clusters were made from them.

A CRD cannot have these rules: Cluster API plans a topology by server-side apply with `dryRun` and an annotation, and
that may change anything. Only a policy sees that a request is one.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from windlass.api.capo import OpenStackMachineSpec, OpenStackMachineTemplate
from windlass.api.capo_cluster import OpenStackClusterTemplate
from windlass.api.capo_rules import PORT_FIELDS
from windlass.api.meta import KubernetesObject
from windlass.capability.manifests.policy import Policy, Rule

_NO_PLAN: Final = {
    "no-plan-of-a-topology": "!(has(request.dryRun) && request.dryRun && "
    "'topology.cluster.x-k8s.io/dry-run' in object.metadata.?annotations.orValue({}))"
}
_IMMUTABLE: Final = "{} spec.template.spec field is immutable. Please create a new resource instead."
_MACHINES: Final = (
    f"{_IMMUTABLE.format('OpenStackMachineTemplate')} "
    "Ref doc: https://cluster-api.sigs.k8s.io/tasks/change-machine-template.html"
)


def policies(exempt: Sequence[str] = ()) -> tuple[Policy, ...]:
    """All policies; they do not apply to the users `exempt`."""
    fields = [field.encode_name for field in structs.fields(OpenStackMachineSpec) if field.encode_name != "ports"]
    return (
        _policy(
            "openstack-machine-templates",
            OpenStackMachineTemplate,
            exempt,
            Rule(" &&\n".join(f"variables.new.?{field} == variables.old.?{field}" for field in fields), _MACHINES),
            Rule(f"{_ports('new')} ==\n{_ports('old')}", f"{_MACHINES} Only allowedAddressPairs of ports may change."),
        ),
        _policy(
            "openstack-cluster-templates",
            OpenStackClusterTemplate,
            exempt,
            Rule("variables.new == variables.old", _IMMUTABLE.format("OpenStackClusterTemplate")),
        ),
    )


def _policy(name: str, kind: type[KubernetesObject], exempt: Sequence[str], *rules: Rule) -> Policy:
    specs = {"new": "object.spec.template.spec", "old": "oldObject.spec.template.spec"}
    return Policy(name=name, kinds=(kind,), exempt=tuple(exempt), when=_NO_PLAN, variables=specs, rules=rules)


def _ports(side: str) -> str:
    """CEL: the ports without their `allowedAddressPairs`."""
    seen = ", ".join(f"dyn(p.?{field})" for field in PORT_FIELDS)
    return f"variables.{side}.?ports.orValue([]).map(p, [{seen}])"
