"""The infra templates of a MachineSet: the one that its machines are created from, and earlier ones.

The name of a template is that of the set and a hash of the machine spec, so a changed spec gives a new template:

| infra template | what follows |
|---|---|
| named by conversion, does not exist | created, before the set refers to it |
| named by conversion, a value in it was changed | the value is set back |
| named by conversion, a provider has added fields, such as defaults | stays |
| that of the set, and an earlier release of Windlass converted the same provider spec to it | stays: `standing` |
| named by conversion, being deleted | wait until it is gone: the same spec was in use a moment ago |
| another with the set's label, and a name that conversion gives | deleted, once no MachineSet refers to it |
| another | stays: a user created it, whatever its label |
| any, when the mirror of a set of Cluster API is released | the label is removed: it is the user's |

A template is paused while the Machine API is authoritative, so that its provider's controllers leave it alone.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from windlass.api import mapi
from windlass.api.meta import OwnerReference, tree
from windlass.kube.control.plan import Create, Delete, Merge, Target, WaitFor, target, target_of
from windlass.kube.control.seen import Present, Unreadable
from windlass.kube.object import Object
from windlass.machine_sync.constants import MACHINE_SET_LABEL, MIRRORED_SPEC_ANNOTATION, PAUSED_ANNOTATION
from windlass.machine_sync.conversion.template_name import machine_set_of
from windlass.machine_sync.machine_set.reasons import Reason
from windlass.machine_sync.machine_set.snapshot import MachineSetSnapshot
from windlass.machine_sync.mirroring import metadata, mirrored_spec
from windlass.machine_sync.mirroring.infra_machine_spec import covers, differing
from windlass.machine_sync.mirroring.synchronized import Fault

_MARKS: Final = {PAUSED_ANNOTATION: ""}


def set_of(found: Object[Any] | Present[Any]) -> str | None:
    """The MachineSet that a template was made for, as its label says."""
    return found.metadata.labels.get(MACHINE_SET_LABEL)


def sets_of(found: Object[Any]) -> Iterable[str]:
    """The MachineSets whose template this is, or could become: by its label, or by its name."""
    return {name for name in (set_of(found), machine_set_of(found.name)) if name}


def standing(seen: MachineSetSnapshot, converted: Any, *, source: Present[mapi.MachineSet]) -> Present[Any] | None:
    """The template of the mirror, if another version of conversion wrote it and it stays: `mirroring.mirrored_spec`."""
    mirror = seen.cluster_api
    name = mirror.object.spec.template.spec.infrastructure_ref.name if isinstance(mirror, Present) else ""
    found = next((one.seen for one in seen.own_templates if one.name == name != converted.metadata.name), None)
    if not isinstance(found, Present) or found.deleting:
        return None
    return None if _standing(seen, found, source=source) is None else found


def ensure(
    seen: MachineSetSnapshot,
    converted: Any,
    owners: list[OwnerReference],
    *,
    source: Present[mapi.MachineSet],
    paused: bool,
) -> Create | Merge | Fault | WaitFor:
    """Create or update the template that conversion names; or why that cannot be done now."""
    name = converted.metadata.name
    found = next((template.seen for template in seen.templates if template.name == name), None)
    record = mirrored_spec.record({}, conversion=seen.platform.conversion, source=_provider_spec(source))
    if found is None:
        return _create(seen, converted, owners, record=record if paused else None)
    if isinstance(found, Unreadable):
        text = f"failed to get CAPI infrastructure machine template: {found.why}"
        return Fault(Reason.FAILED_TO_GET_INFRA, f"failed to fetch CAPI infra resources: {text}", retry=False)
    if found.deleting:
        return WaitFor(f"template {name}, which is being deleted, to be gone before it is recreated")
    return _update(seen, found, converted, owners, record=record if paused else None)


def keep(
    seen: MachineSetSnapshot, found: Present[Any], owners: list[OwnerReference], *, source: Present[mapi.MachineSet]
) -> Merge:
    """Leave the spec of the template that is `standing` as it is."""
    record = _standing(seen, found, source=source)
    return _update(seen, found, found.object, owners, record=record)


def removable(seen: MachineSetSnapshot, *, keep: str = "") -> list[Delete]:
    """The deletion of each template, except `keep`, that was created for this set and that no other uses."""
    why = "no machine of the set is made from it any more"
    return [
        Delete(
            target=target_of(seen.platform.infra_template, one.metadata),
            deleting=one.metadata.deletion_timestamp is not None,
            why=why,
        )
        for one in seen.own_templates
        if one.name != keep and not one.users
    ]


def given_up(seen: MachineSetSnapshot) -> list[Merge]:
    """Leave the templates of this set to the user, like the set: remove our label, so that nothing deletes them."""
    return [
        Merge(
            target=target_of(seen.platform.infra_template, one.metadata),
            observed={"metadata": {"labels": {MACHINE_SET_LABEL: seen.name}}},
            desired={"metadata": {"labels": {}}},
            why="its MachineSet is no longer synchronized",
        )
        for one in seen.own_templates
    ]


def _provider_spec(source: Present[mapi.MachineSet]) -> Any:
    return source.object.spec.template.spec.provider_spec.value


def _standing(seen: MachineSetSnapshot, found: Present[Any], *, source: Present[mapi.MachineSet]) -> str | None:
    """The record of a template whose spec stays."""
    text = found.metadata.annotations.get(MIRRORED_SPEC_ANNOTATION, "")
    conversion, provider_spec = seen.platform.conversion, _provider_spec(source)
    return mirrored_spec.standing(text, conversion=conversion, source=provider_spec, move=seen.move)


def _create(seen: MachineSetSnapshot, converted: Any, owners: list[OwnerReference], *, record: str | None) -> Create:
    body = {"metadata": _metadata(seen, {}, owners, record=record), "spec": tree(converted.spec)}
    aim = Target(seen.platform.infra_template, converted.metadata.name, seen.namespaces.cluster_api)
    return Create(target=aim, body=body, why="what new machines of the set are made from")


def _update(
    seen: MachineSetSnapshot, found: Present[Any], converted: Any, owners: list[OwnerReference], *, record: str | None
) -> Merge:
    observed = found.tree["metadata"]
    made = tree(converted.spec)["template"]["spec"]
    there = ((found.tree.get("spec") or {}).get("template") or {}).get("spec") or {}
    fields = differing(seen.platform, there, made)
    if set_of(found) == seen.name:
        # We created it with the spec of its name: other fields were added later.
        fields = {key: value for key, value in fields.items() if not covers(there.get(key), made.get(key))}
    return Merge(
        target=target(found),
        observed={
            "metadata": metadata.compared(observed),
            "spec": {"template": {"spec": fields}},
        },
        desired={
            "metadata": _metadata(seen, observed, owners, record=record),
            "spec": {"template": {"spec": {key: made.get(key) for key in fields}}},
        },
        why="it was edited, and its name is a hash of its spec" if fields else "it is a template of ours",
    )


def _metadata(
    seen: MachineSetSnapshot, observed: Mapping[str, Any], owners: list[OwnerReference], *, record: str | None
) -> dict[str, Any]:
    """Ours are one label, the owner, the pause and the record of its spec; everything else stays.

    `record` None: it is not paused, and has no record.
    """
    annotations: Mapping[str, str] = observed.get("annotations") or {}
    if record is not None:
        annotations = {**_MARKS, **annotations, MIRRORED_SPEC_ANNOTATION: record}
    else:
        ours = (*_MARKS, MIRRORED_SPEC_ANNOTATION)
        annotations = {key: value for key, value in annotations.items() if key not in ours}
    wanted = {
        "labels": {**(observed.get("labels") or {}), MACHINE_SET_LABEL: seen.name},
        "annotations": annotations,
        "ownerReferences": tree(owners),
    }
    return {key: value for key, value in wanted.items() if value}
