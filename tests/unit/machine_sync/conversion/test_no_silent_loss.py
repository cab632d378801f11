"""No field is lost without a word: set by itself, each comes back from the other API as it was, or it is named."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from windlass.machine_sync.platforms import OPENSTACK

from .round_trips import SUBJECTS, Subject, Tree, Trip, infra_spec, provider_spec

Path = tuple[str | int, ...]

WORDS: dict[str, tuple[Any, ...]] = {
    "affinity": ("AnyAvailable", "DedicatedHost"),
    "allocationStrategy": ("Dynamic", "UserProvided"),
    "authentication": ("Required",),
    "confidentialCompute": ("Disabled", "IntelTrustedDomainExtensions"),
    "deviceType": ("pd-balanced",),
    "effect": ("NoExecute",),
    "encryptionKey": ("arn:k",),
    "from": ("Machine", "Name"),
    "hostAffinity": ("default", "host"),
    "hostID": ("h-01234567",),
    "httpEndpoint": ("enabled",),
    "httpProtocolIpv6": ("disabled",),
    "httpPutResponseHopLimit": (1,),
    "httpTokens": ("required",),
    "image": ("projects/p/global/images/j", "projects/p/global/images/family/f"),
    "imageFamily": ("projects/p/global/images/family/f",),
    "instanceMetadataTags": ("disabled",),
    "integrityMonitoring": ("Enabled", "Disabled"),
    "ipForwarding": ("Enabled",),
    "keyType": ("Supplied",),
    "kmsKeyName": ("projects/p/locations/l/keyRings/r/cryptoKeys/j",),
    "kmsKeyServiceAccount": ("b@p.iam.gserviceaccount.com",),
    "marketType": ("Spot",),
    "networkInterfaceType": ("ENA", "efa"),
    "nodeDeletionTimeoutSeconds": (10,),
    "onHostMaintenance": ("Migrate", "Terminate"),
    "order": ("Oldest",),
    "propagation": ("OnInitialization",),
    "providerID": ("aws:///z/i-1",),
    "provisioningModel": ("Spot", "Standard"),
    "restartPolicy": ("Always", "Never"),
    "rootDeviceSize": (128,),
    "rootDeviceType": ("pd-balanced",),
    "secureBoot": ("Enabled", "Disabled"),
    "size": (64,),
    "sizeGb": (64,),
    "storageType": ("ClusterObjectStore", "UnencryptedUserData"),
    "tenancy": ("dedicated", "host"),
    "type": ("ClusterIdentity", "Secret", "Local", "Volume", "ID", "Name", "RegEx", "zones/r-a/acceleratorTypes/h"),
    "version": ("2.3",),
    "virtualizedTrustedPlatformModule": ("Enabled", "Disabled"),
}
"""By the last name of a field: what it may say, where not every word will do."""

COMES_BACK = "comes back from what mirrors the Machine, or the cluster, not from the spec"
DEFAULT = "says what is so without it"
RENAMED = "comes back under another name that means the same"
SPELLED = "the warning is about its sibling, or spells it as OpenShift does"

EXCUSES: dict[str, dict[str, str]] = {
    "AWSMachine": {
        "providerID": COMES_BACK,
        "instanceID": COMES_BACK,
        "ignition.version='2.3'": DEFAULT,
        "additionalSecurityGroups[0].filters[0].values=[]": DEFAULT,
        "subnet.filters[0].values=[]": DEFAULT,
    },
    "OpenStackMachine": {
        "providerID": COMES_BACK,
        "identityRef.type='Secret'": "without a name there is no Secret",
        "rootVolume.availabilityZone.from": "without a name there is no zone",
        "additionalBlockDevices[0].storage.volume.availabilityZone.from": "without a name there is no zone",
        "ports[0].profile.ovsHWOffload=False": DEFAULT,
        "ports[0].profile.trustedVF=False": DEFAULT,
        "ports[0].valueSpecs=[]": DEFAULT,
    },
    "GCPMachine": {
        "providerID": COMES_BACK,
        "guestAccelerators[0].type": "a name alone comes back as the URL of it in the zone",
        "image='projects/p/global/images/family/f'": RENAMED,
        "image='x'": "a name alone comes back as the reference in the project",
        "provisioningModel='Standard'": DEFAULT,
        "publicIP=False": DEFAULT,
    },
    "IBMPowerVSMachine": {"providerID": COMES_BACK, "serviceInstanceID": RENAMED},
    "AWSMachineProviderConfig": {
        "kind": DEFAULT,
        "apiVersion": DEFAULT,
        "blockDevices[0].deviceName": SPELLED,
        "blockDevices[0].ebs.deleteOnTermination=True": DEFAULT,
        "blockDevices[0].ebs.kmsKey.arn='x'": "what is no ARN comes back as an ID",
        "placement.host.affinity='AnyAvailable'": DEFAULT,
        "placement.host.dedicatedHost.allocationStrategy='UserProvided'": DEFAULT,
        "placement.host.dedicatedHost.dynamicHostAllocation.tags=[]": DEFAULT,
    },
    "GCPMachineProviderSpec": {
        "kind": DEFAULT,
        "apiVersion": DEFAULT,
        "disks[0].image='x'": "a name alone comes back as the reference in the project",
        "gpus[0].type='zones/r-a/acceleratorTypes/h'": RENAMED,
        "restartPolicy='Always'": DEFAULT,
    },
    "OpenstackProviderSpec": {
        "kind": DEFAULT,
        "apiVersion": DEFAULT,
        "networks[0].uuid": "with subnets by ID, or none, comes back as one of ports",
        "networks[0].subnets[0].uuid": "of a network by ID comes back as one of ports",
        "networks[0].filter.id": RENAMED,
        "networks[0].filter.tenantId": RENAMED,
        "networks[0].fixedIp": SPELLED,
        "networks[0].subnets[0].filter.id": RENAMED,
        "networks[0].subnets[0].filter.tenantId": RENAMED,
        "networks[0].subnets[0].portSecurity": "comes back as that of a network of this subnet alone",
        "securityGroups[0].filter.id": RENAMED,
        "securityGroups[0].filter.name": RENAMED,
        "securityGroups[0].filter.tenantId": RENAMED,
    },
    "PowerVSMachineProviderConfig": {"kind": DEFAULT, "apiVersion": DEFAULT},
    "Machine of Cluster API": {"clusterName": COMES_BACK, "infrastructureRef": COMES_BACK},
    "Machine of the Machine API": {"authoritativeAPI": "belongs to the controllers"},
    "MachineSet of Cluster API": {
        "clusterName": COMES_BACK,
        "template.spec.clusterName": COMES_BACK,
        "template.spec.infrastructureRef": COMES_BACK,
    },
    "MachineSet of the Machine API": {
        "authoritativeAPI": "belongs to the controllers",
        "template.spec.authoritativeAPI": "belongs to the controllers",
    },
}
"""Why what comes back is no loss although it differs: by path, of all values or of one."""


EMPTY: dict[type[inspect.Type], tuple[Any]] = {inspect.BoolType: (False,), inspect.ListType: ([],)}
"""Values that say something else than nothing does, of types of which nothing is one too."""


def leaves(known: inspect.Type, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field, and a value that it may have; where nothing is not the same as empty, empty ones too."""
    match known:
        case inspect.Metadata():
            yield from leaves(known.type, path)
        case inspect.UnionType():
            for one in known.types:
                yield from leaves(one, path)
                if empty := EMPTY.get(type(one.type if isinstance(one, inspect.Metadata) else one)):
                    yield path, empty[0]
        case inspect.StructType():
            for field in known.fields:
                yield from leaves(field.type, (*path, field.encode_name))
        case inspect.ListType():
            yield from leaves(known.item_type, (*path, 0))
        case inspect.DictType():
            for _, value in leaves(known.value_type):
                yield path, {"x": value}
        case inspect.BoolType():
            yield path, True
        case inspect.IntType():
            yield from ((path, value) for value in (7, *words(path, int)))
        case inspect.StrType():
            yield from ((path, value) for value in ("x", *words(path, str)))


def words(path: Path, kind: type[Any]) -> list[Any]:
    return [word for word in WORDS.get(str(path[-1]) if path else "", ()) if isinstance(word, kind)]


def with_leaf(tree: Tree, path: Path, value: Any) -> Tree:
    """`tree` with `value` at `path`; lists on the way have one item at least."""
    changed = copy.deepcopy(tree)
    at: Any = changed
    for step, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(step, int) and not at:
            at.append(None)
        if following is None:
            at[step] = value
        elif at_leaf(at, (step,)) is None:
            at[step] = [] if isinstance(following, int) else {}
        at = at[step]
    return changed


def at_leaf(tree: Any, path: Path) -> Any:
    """What is at `path` in `tree`, None if nothing is."""
    for step in path:
        if isinstance(step, int):
            tree = tree[step] if isinstance(tree, list) and len(tree) > step else None
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def silent(subject: Subject) -> Iterator[tuple[str, Any]]:
    """The fields, with their values, that neither come back as they were nor are named."""
    for base in subject.bases:
        usual = subject.travel(base)
        assert usual.returned is not None, usual.there
        for path, value in leaves(inspect.type_info(subject.kind)):
            trip = subject.travel(with_leaf(base, path, value))
            kept = trip.returned is not None and is_in(value, at_leaf(trip.returned, path))
            if not kept and not named(trip, path, subject=subject, usual=usual):
                yield dotted(path), value


def is_in(value: Any, returned: Any) -> bool:
    """Whether `returned` has what `value` has; maps may have more."""
    if isinstance(value, dict) and isinstance(returned, dict):
        return value.items() <= returned.items()
    return type(value) is type(returned) and bool(value == returned)


def named(trip: Trip, path: Path, *, subject: Subject, usual: Trip) -> bool:
    """Whether conversion refuses, names the field at `path`, or has something new to say on the way back."""
    if trip.there.errors or any(names(text, path, subject=subject) for text in trip.there.remarks):
        return True
    assert trip.back is not None
    assert usual.back is not None
    return bool(trip.back.errors) or not set(trip.back.remarks) <= set(usual.back.remarks)


def names(text: str, path: Path, *, subject: Subject) -> bool:
    """Whether a warning is about the field at `path`, what it is a part of, or a part of it."""
    said = text.partition(": ")[0]
    # What is wrong in the template of a set is told as of a Machine.
    own = f"{subject.path}.{dotted(path)}"
    return any(
        f"{longer}.".startswith((f"{shorter}.", f"{shorter}["))
        for mine in (own, own.replace("spec.template.spec.", "spec."))
        for longer, shorter in ((said, mine), (mine, said))
    )


def dotted(path: Path) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_each_field_comes_back_as_it_was_or_is_named(subject: Subject) -> None:
    excuses = EXCUSES.get(subject.name, {})
    found = {f"{path}={value!r}" for path, value in silent(subject)}
    needed = {excuse for excuse in excuses if any(is_excused(one, excuse) for one in found)}
    assert {one for one in found if not any(is_excused(one, excuse) for excuse in excuses)} == set()
    assert needed == set(excuses), "an excuse that nothing needs hides the next loss"


def is_excused(found: str, excuse: str) -> bool:
    return found == excuse or found.startswith((f"{excuse}=", f"{excuse}."))


def test_a_network_whose_parts_are_named_by_id_comes_back_as_a_port_with_all_it_said() -> None:
    network = {
        "uuid": "n",
        "subnets": [{"uuid": "s", "portTags": ["u"]}],
        "portTags": ["t"],
        "portSecurity": False,
        "vnicType": "direct",
        "profile": {"capabilities": "switchdev", "trusted": "true"},
    }
    trip = provider_spec(OPENSTACK).travel({"networks": [network]})
    assert trip.there.remarks == ()
    assert at_leaf(trip.returned, ("ports", 0)) == {
        "networkID": "n",
        "fixedIPs": [{"subnetID": "s"}],
        "tags": ["t", "u"],
        "portSecurity": False,
        "vnicType": "direct",
        "profile": {"capabilities": "switchdev", "trusted": "true"},
    }


def test_a_conversion_that_loses_a_field_is_found_out() -> None:
    """The test of the test: with the losses of OpenStackMachines taken away they are silent."""

    def travel(spec: Tree) -> Trip:
        there, back, returned = infra_spec(OPENSTACK).travel(spec)
        return Trip(msgspec.structs.replace(there, losses=()), back, returned)

    found = {path for path, _ in silent(infra_spec(OPENSTACK)._replace(travel=travel))}
    assert {"identityRef.type", "ports[0].allowedAddressPairs", "serverGroup.filter.name"} <= found
