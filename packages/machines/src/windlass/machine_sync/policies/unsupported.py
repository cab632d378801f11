"""Fields that the Machine API cannot express may not be set on mirrored objects of Cluster API: the mirror would become
stale.

| object | where it is refused |
|---|---|
| Machine, MachineSet, infra machine | on UPDATE while it has the sync finalizer, on CREATE with it |
| infra template | nowhere: it does not show whether its machines are mirrored. The user is warned |

Machines that only Cluster API has may have these fields. `inexpressible` finds the fields, and this module writes them
as CEL. An object that has such a field already may keep it: a policy that is installed later must not block the removal
of a finalizer.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api import capi
from windlass.capability.manifests.cel import literal
from windlass.capability.manifests.policy import CREATE, UPDATE, Policy, Rule
from windlass.machine_sync.constants import SYNC_FINALIZER, Namespaces
from windlass.machine_sync.platforms import Platform
from windlass.machine_sync.policies.inexpressible import (
    Field,
    fields,
    infra_machine_prober,
    machine_prober,
    machine_set_prober,
)

_MACHINE: Final = "spec"
_TEMPLATE: Final = "spec.template.spec"
_IS_MACHINE: Final = f"object.kind == {literal(capi.Machine.RESOURCE.kind)}"
_HELD: Final = {
    "is-held": f"{literal(SYNC_FINALIZER)} in\n"
    "  (oldObject == null ? object : oldObject).metadata.?finalizers.orValue([])"
}


def policies(namespaces: Namespaces, *, platforms: Iterable[Platform], exempt: tuple[str, ...]) -> tuple[Policy, ...]:
    """One for the core of Cluster API, and for each platform one for its machines and one for its templates."""
    platforms = tuple(platforms)
    return (
        _core(platforms[0], namespaces.cluster_api, exempt=exempt),
        *(_infra_machines(platform, namespaces.cluster_api, exempt=exempt) for platform in platforms),
        *(_infra_templates(platform, namespaces.cluster_api, exempt=exempt) for platform in platforms),
    )


def _core(platform: Platform, namespace: str, *, exempt: tuple[str, ...]) -> Policy:
    return Policy(
        name="openshift-cluster-api-prevent-setting-of-capi-fields-unsupported-by-mapi",
        kinds=(capi.Machine, capi.MachineSet),
        namespace=namespace,
        operations=(CREATE, UPDATE),
        exempt=exempt,
        when=_HELD,
        # The kind is read from the object: `request.kind` may be of another version.
        variables={
            "path": f"{_IS_MACHINE} ? {literal(_MACHINE)} : {literal(_TEMPLATE)}",
            "spec": f"({_IS_MACHINE} ? {_read('object', _MACHINE)} : {_read('object', _TEMPLATE)}).orValue({{}})",
            "oldSpec": "oldObject == null ? {} :\n"
            f"  ({_IS_MACHINE} ? {_read('oldObject', _MACHINE)} : {_read('oldObject', _TEMPLATE)}).orValue({{}})",
        },
        rules=(
            *(_forbidden(field) for field in fields(machine_prober(platform))),
            *(_forbidden_in_set(field) for field in fields(machine_set_prober(platform))),
        ),
    )


def _infra_machines(platform: Platform, namespace: str, *, exempt: tuple[str, ...]) -> Policy:
    return Policy(
        name=f"openshift-cluster-api-unsupported-{platform.name.lower()}-spec-fields",
        kinds=(platform.infra_machine,),
        namespace=namespace,
        operations=(CREATE, UPDATE),
        exempt=exempt,
        when=_HELD,
        variables=_spec_variables(_MACHINE),
        rules=tuple(_forbidden(field) for field in fields(infra_machine_prober(platform))),
    )


def _infra_templates(platform: Platform, namespace: str, *, exempt: tuple[str, ...]) -> Policy:
    return Policy(
        name=f"cluster-api-unsupported-{platform.name.lower()}-template-fields",
        kinds=(platform.infra_template,),
        namespace=namespace,
        operations=(CREATE, UPDATE),
        exempt=exempt,
        variables=_spec_variables(_TEMPLATE),
        rules=tuple(
            _forbidden(field, "is a field that the Machine API cannot express")
            for field in fields(infra_machine_prober(platform))
        ),
        warns=True,
    )


def _spec_variables(path: str) -> dict[str, str]:
    """The spec of a machine, or that of machines in a template, and its path; `oldSpec` may be empty."""
    return {
        "path": literal(path),
        "spec": f"{_read('object', path)}.orValue({{}})",
        "oldSpec": f"oldObject == null ? {{}} : {_read('oldObject', path)}.orValue({{}})",
    }


def _read(container: str, path: str) -> str:
    return "".join((container, *(f".?{step}" for step in path.split("."))))


def _forbidden(field: Field, what: str = "is a forbidden field") -> Rule:
    suffix = f" of a {' or '.join(form.noun for form in field.forms)}" if field.forms else ""
    return Rule(
        f"{_unset('variables.spec', field)} ||\n{_kept('variables.spec', 'variables.oldSpec', field)}",
        f"variables.path + {literal(f'.{field} {what}{suffix}')}",
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
