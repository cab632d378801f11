"""An admission policy as a value, and the two Kubernetes objects that it becomes.

A `Policy` says what a row of a table says: on which objects, for whom not, when, and what must hold. `documents` writes
it down as a ValidatingAdmissionPolicy and its binding. The policy is the rule, the binding is the place: namespaces
stand in bindings alone.

The API server asks in this order, and stops at the first no: operation and kind; namespace and label (`skip_label`);
then, for each parameter object, conditions (`when`) and rules. So a label keeps the cost of parameters away, and a
condition does not.

Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from windlass.api.meta import KubernetesObject
from windlass.capability.manifests import Manifest
from windlass.capability.manifests.cel import literal

PREFIX: Final = "windlass-"
"""OpenShift's own policies may be on the same cluster; theirs are reconciled, and would be overwritten back."""

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
    """Objects to compare with: all of `kind` in `namespace`, of which that with the object's own name counts."""

    kind: type[KubernetesObject]
    namespace: str


class Policy(Struct, frozen=True, kw_only=True):
    """One policy.

    name        without PREFIX: where the rule is OpenShift's, OpenShift's name
    kinds       what it looks at, on `operations`
    namespace   where; empty for cluster-scoped kinds
    exempt      user names for whom it does not hold
    when        CEL by name: all must be true for the rules to be asked
    variables   CEL by name, for the rules; computed at most once, when first used
    twins       what a rule must know and the object does not say; expensive: the API server runs the policy once for
                each of them
    skip_label  objects with this label are not looked at
    warns       users are told and may go on, also when the rule itself fails
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
    skip_label: str = ""
    warns: bool = False

    def documents(self) -> tuple[Manifest, Manifest]:
        """The ValidatingAdmissionPolicy and its ValidatingAdmissionPolicyBinding."""
        return self._policy(), self._binding()

    def _policy(self) -> Manifest:
        names = ",\n  ".join(literal(name) for name in self.exempt)
        conditions = {"not-exempt": f"!(request.userInfo.username in [\n  {names}\n])", **self.when}
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
        matched: Manifest = {"matchPolicy": "Equivalent", "resourceRules": [self._on(kind) for kind in self.kinds]}
        if self.skip_label:
            matched["objectSelector"] = {"matchExpressions": [{"key": self.skip_label, "operator": "DoesNotExist"}]}
        return matched

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
