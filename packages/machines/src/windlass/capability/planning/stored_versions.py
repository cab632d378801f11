"""Finds the kinds whose CRDs cannot be installed over those of an earlier program.

The API server remembers in `status.storedVersions` of a CRD each version in which objects were ever stored, and refuses
a CRD that lacks one of them. A program that upgrades its CRDs rarely takes a version out of that list, so it may name
one that was given up years ago. Nothing but reading is needed to see it before the installation fails.
"""

from collections.abc import Iterable
from typing import Final

from windlass.api.apiextensions import CustomResourceDefinition
from windlass.api.meta import KubernetesObject, Resource
from windlass.capability.planning.planner import Remark
from windlass.kube.errors import KubeError, NotFound
from windlass.kube.verbs import ReadApi

_REMEDY: Final = (
    "While a program that serves {gone} is still installed, store all objects again: "
    "`kubectl get {name} -A -o json | kubectl replace -f -`. Then take the version out: "
    "`kubectl patch crd {name} --subresource=status --type=merge "
    '-p \'{{"status":{{"storedVersions":["{kept}"]}}}}\'`'
)


async def refused_definitions(api: ReadApi, kinds: Iterable[type[KubernetesObject]]) -> list[Remark]:
    """A warning for each of `kinds` whose CRD of ours the API server would refuse, with the migration; or a note why
    that cannot be told."""
    found: list[Remark] = []
    for kind in kinds:
        resource = kind.RESOURCE
        try:
            crd = (await api.get(CustomResourceDefinition, resource.name)).decode()
        except NotFound:
            continue
        except KubeError as error:
            return [*found, ("note", f"whether the CRDs of Windlass can be installed is not known: {error}")]
        if gone := [each for each in crd.status.stored_versions if each != resource.version]:
            found.append(("warning", _text(resource, gone)))
    return found


def _text(resource: Resource, gone: list[str]) -> str:
    versions = ", ".join(gone)
    return (
        f"the API server refuses to install the CustomResourceDefinition {resource.name} of Windlass, or has an older "
        f"one: objects were once stored in {versions}, which it does not have. "
        + _REMEDY.format(gone=versions, name=resource.name, kept=resource.version)
    )
