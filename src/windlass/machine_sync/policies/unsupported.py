"""What the Machine API cannot express may not be set in Cluster API, or the machine could never be mirrored.

On CREATE and UPDATE in the namespace of Cluster API. Which fields these are is what `inexpressible` finds, so this page
only writes them down as CEL. An object that has such a field already keeps it: a policy that comes later must not hold
up who takes a finalizer off.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api import capi
from windlass.api.meta import KubernetesObject
from windlass.machine_sync.constants import Namespaces
from windlass.machine_sync.platforms import Platform
from windlass.machine_sync.policies.cel import literal
from windlass.machine_sync.policies.inexpressible import Field, fields, infra_prober, machine_prober, machine_set_prober
from windlass.machine_sync.policies.policy import CREATE, UPDATE, Policy, Rule

_TEMPLATE: Final = "spec.template.spec"


def policies(namespaces: Namespaces, *, platforms: Iterable[Platform], exempt: tuple[str, ...]) -> tuple[Policy, ...]:
    """One for the core of Cluster API, and one for each platform."""
    platforms = tuple(platforms)
    return (
        _core(platforms[0], namespaces.cluster_api, exempt=exempt),
        *(_infra(platform, namespaces.cluster_api, exempt=exempt) for platform in platforms),
    )


def _core(platform: Platform, namespace: str, *, exempt: tuple[str, ...]) -> Policy:
    return Policy(
        name="openshift-cluster-api-prevent-setting-of-capi-fields-unsupported-by-mapi",
        kinds=(capi.Machine, capi.MachineSet),
        namespace=namespace,
        operations=(CREATE, UPDATE),
        exempt=exempt,
        variables=_spec_variables(capi.Machine),
        rules=(
            *(_forbidden(field) for field in fields(machine_prober(platform))),
            *(_forbidden_in_set(field) for field in fields(machine_set_prober(platform))),
        ),
    )


def _infra(platform: Platform, namespace: str, *, exempt: tuple[str, ...]) -> Policy:
    return Policy(
        name=f"openshift-cluster-api-unsupported-{platform.name.lower()}-spec-fields",
        kinds=(platform.infra_machine, platform.infra_template),
        namespace=namespace,
        operations=(CREATE, UPDATE),
        exempt=exempt,
        variables=_spec_variables(platform.infra_machine),
        rules=tuple(_forbidden(field) for field in fields(infra_prober(platform))),
    )


def _spec_variables(machine: type[KubernetesObject]) -> dict[str, str]:
    """The spec of a machine, or the one in the template of a set or of machines, and its path; `oldSpec` may be empty.

    The kind is told by the object: `request.kind` may be of another version.
    """
    is_machine = f"object.kind == {literal(machine.RESOURCE.kind)}"
    return {
        "path": f"{is_machine} ? 'spec' : {literal(_TEMPLATE)}",
        "spec": f"({is_machine} ? object.?spec : object.?spec.?template.?spec).orValue({{}})",
        "oldSpec": "oldObject == null ? {} :\n"
        f"  ({is_machine} ? oldObject.?spec : oldObject.?spec.?template.?spec).orValue({{}})",
    }


def _forbidden(field: Field) -> Rule:
    suffix = f" of a {' or '.join(form.noun for form in field.forms)}" if field.forms else ""
    return Rule(
        f"{_unset('variables.spec', field)} ||\n{_kept('variables.spec', 'variables.oldSpec', field)}",
        f"variables.path + {literal(f'.{field} is a forbidden field{suffix}')}",
        computed=True,
    )


def _forbidden_in_set(field: Field) -> Rule:
    return Rule(
        f"object.kind != {literal(capi.MachineSet.RESOURCE.kind)} || {_unset('object.?spec', field)} ||\n"
        f"(oldObject != null && {_kept('object.?spec', 'oldObject.?spec', field)})",
        f"spec.{field} is a forbidden field",
    )


def _kept(new: str, old: str, field: Field) -> str:
    """CEL: `field` is what it was; of items of a list, the whole list is."""
    way = ""
    for step in field.path:
        way += f".?{step.name}"
        if step.is_list:
            break
    return f"{new}{way} == {old}{way}"


def _unset(container: str, field: Field) -> str:
    """CEL: `field` of `container` is not set, in any item of the lists on its path."""
    return _unset_below(container, field, at=0, items=())


def _unset_below(container: str, field: Field, *, at: int, items: tuple[str, ...]) -> str:
    read = container
    for place, step in enumerate(field.path[at:], at):
        read = f"{read}.?{step.name}"
        if step.is_list and place < len(field.path) - 1:
            item = "ijk"[len(items)]
            rest = _unset_below(item, field, at=place + 1, items=(*items, item))
            if field.forms and not items:
                form = " || ".join(form.when.format(item) for form in field.forms)
                rest = f"!({form}) || {rest}"
            return f"{read}.orValue([]).all({item}, {rest})"
    absent = field.path[-1].absent
    return f"{read}.orValue({absent}) == {absent}" if absent else f"!{read}.hasValue()"
