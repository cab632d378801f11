"""Finds the credentials that an `identityRef` names: a Secret, or an OpenStackClusterIdentity that names one.

    found = await credentials_of(reader, spec.identity_ref, namespace=namespace)
    match found:
        case Credentials(): ...
        case IdentityTrouble(): ...          # a sentence for a condition

Only the metadata of Secrets is cached. A Secret is read when it is needed for the first time, and again when its
resourceVersion has moved. `windlass.openstack.identity.watches` declares what a controller watches for it.
"""

import base64
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from windlass.api.capo import IdentityReference
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.core import Namespace, Secret
from windlass.api.meta import LabelSelector, LabelSelectorRequirement
from windlass.kube.control.seen import IndexedReader, NotServedKind, Present, Reader, Unreadable
from windlass.kube.errors import Undeclared
from windlass.kube.object import Object
from windlass.openstack.cloud.credentials import Credentials, read
from windlass.openstack.cloud.failures import Unauthenticated

CLUSTER_IDENTITY: Final = "ClusterIdentity"
CLOUDS: Final = "clouds.yaml"
CACERT: Final = "cacert"

BY_NAME: Final = "name"
"""Index of Secrets: by `namespace/name`."""

Found: TypeAlias = "Credentials | IdentityTrouble"


class IdentityTrouble(Struct, frozen=True):
    """Why there are no credentials: the object, the field and the remedy, in a sentence."""

    message: str


_READ: WeakKeyDictionary[Object[Secret], dict[tuple[str, str], Found]] = WeakKeyDictionary()
"""What was read, by the cached metadata of the Secret: a cache holds one object for each version of it."""


async def credentials_of(reader: IndexedReader, ref: IdentityReference, *, namespace: str) -> Found:
    """The credentials for an object in `namespace`. Raises KubeErrors when the API server does not answer."""
    if ref.type != CLUSTER_IDENTITY:
        return await credentials_in(reader, namespace, ref.name, ref=ref, named_by="identityRef.name")
    found = await reader.see(OpenStackClusterIdentity, ref.name)
    match found:
        case Unreadable():
            return IdentityTrouble(f"OpenStackClusterIdentity {ref.name} is malformed: {found.why}")
        case NotServedKind():
            return IdentityTrouble(f"{found.why}: install its CRD, or name a Secret in identityRef")
        case Present():
            spec = found.object.spec
        case _:
            return IdentityTrouble(
                f"OpenStackClusterIdentity {ref.name} does not exist: create it, or correct identityRef.name"
            )
    if spec.namespace_selector is not None and not await _admitted(reader, namespace, spec.namespace_selector):
        text = f"OpenStackClusterIdentity {ref.name} is not for namespace {namespace}"
        return IdentityTrouble(f"{text}: change its spec.namespaceSelector, or label the namespace")
    secret = spec.secret_ref
    where = f"spec.secretRef of OpenStackClusterIdentity {ref.name}"
    return await credentials_in(reader, secret.namespace, secret.name, ref=ref, named_by=where)


async def credentials_in(
    reader: IndexedReader, namespace: str, name: str, *, ref: IdentityReference, named_by: str
) -> Found:
    if not name or not namespace:
        return IdentityTrouble(f"{named_by} names no Secret: set name and namespace")
    cached = next(iter(reader.indexed(Secret, BY_NAME, f"{namespace}/{name}")), None)
    key = (ref.cloud_name, ref.region)
    if cached is not None and (known := _READ.get(cached, {}).get(key)) is not None:
        return known
    text = f"Secret {namespace}/{name}"
    try:
        found = await reader.see(Secret, name, namespace=namespace, live=True)
    except Undeclared:
        return IdentityTrouble(f"{text} is in a namespace that this controller does not watch: correct {named_by}")
    if isinstance(found, Unreadable):
        return IdentityTrouble(f"{text} is malformed: {found.why}")
    if not isinstance(found, Present):
        return IdentityTrouble(f"{text} does not exist: create it with the key {CLOUDS}, or correct {named_by}")
    result = _parsed(found.object, ref, where=text)
    if isinstance(result, Credentials):
        result = replace(result, tenant=namespace)
    if cached is not None:
        _READ.setdefault(cached, {})[key] = result
    return result


def _parsed(secret: Secret, ref: IdentityReference, *, where: str) -> Found:
    try:
        clouds, cacert = _text(secret, CLOUDS), _text(secret, CACERT)
    except ValueError:  # no base64, or no UTF-8
        return IdentityTrouble(f"{where} has a key {CLOUDS} or {CACERT} that is not text: correct it")
    if not clouds:
        return IdentityTrouble(f"{where} has no key {CLOUDS}: add it")
    try:
        return read(clouds, ref.cloud_name, region=ref.region, cacert=cacert, where=where)
    except Unauthenticated as wrong:
        return IdentityTrouble(wrong.fault)


def _text(secret: Secret, key: str) -> str:
    return base64.b64decode(secret.data.get(key, ""), validate=True).decode()


async def _admitted(reader: Reader, namespace: str, selector: LabelSelector) -> bool:
    if not selector.match_labels and not selector.match_expressions:
        return True
    found = await reader.see(Namespace, namespace)
    labels = found.metadata.labels if isinstance(found, Present) else {}
    equal = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return equal and all(_holds(each, labels.get(each.key)) for each in selector.match_expressions)


def _holds(requirement: LabelSelectorRequirement, label: str | None) -> bool:
    """An unknown operator admits nobody: these are credentials."""
    match requirement.operator:
        case "In":
            return label in requirement.values
        case "NotIn":
            return label not in requirement.values
        case "Exists":
            return label is not None
        case "DoesNotExist":
            return label is None
    return False
