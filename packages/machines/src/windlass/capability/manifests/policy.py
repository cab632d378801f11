"""Describes an admission policy as a value, and makes its two Kubernetes objects.

A `Policy` has the objects that it applies to, the exempt users, the conditions and the rules. `documents` turns it into
a ValidatingAdmissionPolicy and its binding. The policy has the rules; only the binding has namespaces.

The API server checks in this order, and stops at the first no: operation and kind; namespace; then, for each
parameter object, conditions (`when`) and rules. So a condition does not avoid the cost of parameters.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.capability.manifests import Manifest
from windlass.capability.manifests.cel import literal

PREFIX: Final = "windlass-"
"""The prefix avoids the names of OpenShift's own policies, whose operator would overwrite ours."""

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"

_API_VERSION: Final = "admissionregistration.k8s.io/v1"


class Rule(Struct, frozen=True):
    """`expression` must hold, else the user reads `message`: a text, or if `computed` a CEL expression that yields it.

    The API server refuses a computed message that is longer than 5 KiB or has line breaks, and then says which rule it
    was instead.
    """

    expression: str
    message: str
    computed: bool = False


class Twins(Struct, frozen=True):
    """The objects of `kind` in `namespace`; the one with the object's own name is compared with it."""

    kind: type[KubernetesObject]
    namespace: str


class Policy(Struct, frozen=True, kw_only=True):
    """One policy.

    name        without PREFIX: where the rule is OpenShift's, OpenShift's name
    kinds       the kinds that it applies to, on `operations`
    namespace   the namespace of the objects; empty for cluster-scoped kinds, and for all namespaces
    exempt      users to whom it does not apply
    when        CEL by name: the rules apply only if all are true
    variables   CEL by name, for the rules; computed at most once, when first used
    twins       other objects that a rule needs; expensive: the API server runs the policy once for each of them
    warns       users get a warning and may continue, also when the rule itself fails
    """

    name: str
    kinds: tuple[type[KubernetesObject], ...]
    namespace: str = ""
    operations: tuple[str, ...] = (UPDATE,)
    exempt: tuple[str, ...]
    when: Mapping[str, str] = {}
    variables: Mapping[str, str] = {}
    rules: tuple[Rule, ...]
    twins: Twins | None = None
    warns: bool = False

    def documents(self) -> tuple[Manifest, Manifest]:
        """The ValidatingAdmissionPolicy and its ValidatingAdmissionPolicyBinding."""
        return self._policy(), self._binding()

    def _policy(self) -> Manifest:
        conditions = dict(self.when)
        if self.exempt:
            names = ",\n  ".join(literal(name) for name in self.exempt)
            conditions = {"not-exempt": f"!(request.userInfo.username in [\n  {names}\n])", **conditions}
        if self.twins is not None:
            conditions["is-the-twin"] = "object.metadata.name == params.metadata.name"
        spec: Manifest = {
            "failurePolicy": "Ignore" if self.warns else "Fail",
            "matchConstraints": self._matched(),
            "matchConditions": [{"name": name, "expression": cel} for name, cel in conditions.items()],
        }
        if self.twins is not None:
            resource = self.twins.kind.RESOURCE
            spec["paramKind"] = {"apiVersion": resource.api_version, "kind": resource.kind}
        if self.variables:
            spec["variables"] = [{"name": name, "expression": cel} for name, cel in self.variables.items()]
        spec["validations"] = [
            {"expression": rule.expression, "messageExpression" if rule.computed else "message": rule.message}
            for rule in self.rules
        ]
        return {**_header("ValidatingAdmissionPolicy", self.name), "spec": spec}

    def _matched(self) -> Manifest:
        return {"matchPolicy": "Equivalent", "resourceRules": [self._on(kind) for kind in self.kinds]}

    def _on(self, kind: type[KubernetesObject]) -> Manifest:
        resource = kind.RESOURCE
        return {
            "apiGroups": [resource.group],
            "apiVersions": [resource.version],
            "operations": list(self.operations),
            "resources": [resource.plural],
        }

    def _binding(self) -> Manifest:
        spec: Manifest = {
            "policyName": f"{PREFIX}{self.name}",
            "validationActions": ["Warn" if self.warns else "Deny"],
        }
        if self.namespace:
            here = {"kubernetes.io/metadata.name": self.namespace}
            spec["matchResources"] = {"namespaceSelector": {"matchLabels": here}}
        if self.twins is not None:
            spec["paramRef"] = {
                "namespace": self.twins.namespace,
                "selector": {},
                "parameterNotFoundAction": "Allow",
            }
        return {**_header("ValidatingAdmissionPolicyBinding", self.name), "spec": spec}


def _header(kind: str, name: str) -> Manifest:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": f"{PREFIX}{name}"}}
