"""Where our conversion deliberately differs from the recorded one: by file and case, with the reason.

Everything that is not listed here must be equal to the letter, but for what differs in every OpenStackMachine
(`vectors.as_recorded`). What is listed must differ, and only where its reasons say: in parts of the result whose path
matches, or in warnings. `losses`, of which the recorded program says nothing, stand beside the warnings and are no
deviation. A template whose spec differs has another name too.
"""

import re
from typing import Final, NamedTuple


class Reason(NamedTuple):
    """Why we differ. `paths` matches the paths at which results may then differ."""

    text: str
    paths: re.Pattern[str] | None = None


CRASHES: Final = Reason("the recorded program crashes; ours says what is wrong, or takes what is missing as none")
NO_ROOT_VOLUME: Final = Reason(
    "a Machine without a root device gets a root volume of 0 GiB, which the CRD refuses; ours gives none",
    re.compile(r"\.rootVolume$"),
)
NETWORK_OPTIONS: Final = Reason(
    "vnicType, profile, portSecurity and noAllowedAddressPairs of a network are lost; ours has them on its ports",
    re.compile(r"\.ports\[\]\.(allowedAddressPairs|disablePortSecurity|profile|vnicType)$"),
)
SUBNET_OF_FIXED_IP: Final = Reason(
    "the subnet of a port's fixed IP is lost, and an address that is not there is empty; ours has both right",
    re.compile(r"\.ports\[\]\.fixedIPs\[\]\.(subnet|ipAddress)$"),
)
ID_OR_FILTER: Final = Reason(
    "a subnet of a network gets an ID and a filter, one of them empty, which the CRD refuses; ours has at most one",
    re.compile(r"\.ports\[\]\.fixedIPs\[\]\.subnet(\.(id|filter))?$"),
)
NAMED_ZONE: Final = Reason(
    "a volume without a zone gets none, or one without a name, which the CRD refuses; ours gets that of the server",
    re.compile(r"\.(additionalBlockDevices\[\]\.storage\.volume|rootVolume)\.availabilityZone(\.(from|name))?$"),
)
SOURCE_UUID: Final = Reason("a warning says that sourceUUID is ignored; the Machine API takes it, and so does ours")
SOURCE_IMAGE: Final = Reason(
    "the image of a root volume is taken from `image`; the Machine API takes sourceUUID, and so does ours",
    re.compile(r"\.image\.filter\.name$"),
)
IMAGE_OF_VOLUME: Final = Reason(
    "a root volume gets no image, and the Machine API takes it from there; ours has it in sourceUUID too",
    re.compile(r"\.rootVolume\.sourceUUID$"),
)
PORT_SECURITY: Final = Reason(
    "port security that is asked for is left to the network; ours asks for it",
    re.compile(r"\.ports\[\]\.disablePortSecurity$"),
)
GROUP_BY_ID: Final = Reason(
    "the ID and the tenant in the filter of a security group are lost; ours has the ID, or else the tenant as project",
    re.compile(r"\.securityGroups\[\]\.(id|filter(\.projectID)?)$"),
)
NO_NETWORK: Final = Reason(
    "a network that nothing names that Cluster API's provider knows becomes a port on any network; ours is a loss",
    re.compile(r"\.spec\.ports$"),
)
TAGS_ONCE: Final = Reason(
    "tags of a network and its subnets are added up, so that they double with every round trip, and some overwrite "
    "those of other ports; a server has a tag twice, which the CRD refuses; ours has each tag once",
    re.compile(r"\.(ports\[\]|spec)\.tags(\[\])?$"),
)
INDEX_OF_NETWORK: Final = Reason("a warning about a network has the index of a subnet in the place of the network's")
SINGLE_SECURITY_GROUP: Final = Reason(
    "the only security group of a port is lost; ours keeps it",
    re.compile(r"\.ports\[\]\.securityGroups$"),
)

TAINTS: Final = Reason("a Machine with taints is refused; ours converts them")

CRASH_ERRORS: Final = {
    "openstack-capi2mapi-t-set-template-null": (
        "provided MachineSet, OpenStackMachineTemplate and OpenStackCluster can not be nil",
    ),
    "openstack-capi2mapi-t-abd-volume-noaz-panics": (),
    "openstack-capi2mapi-real-mixed-029": (
        'spec.image.imageRef: Invalid value: {"name":"orc"}: MAPO only supports defining images by names',
    ),
    "openstack-capi2mapi-real-mixed-032": ('spec.version: Invalid value: "v1.31.0": version is not supported',),
    "openstack-capi2mapi-real-mixed-089": (
        "spec.ports[0].network: Required value: A port must have a reference to a network",
    ),
    "aws-mapi2capi-t-infra-null": (
        'infrastructure.status.infrastructureName: Invalid value: "": infrastructure cannot be nil and '
        "infrastructure.Status.InfrastructureName cannot be empty",
    ),
    "openstack-mapi2capi-t-infra-null": (
        'infrastructure.status.infrastructureName: Invalid value: "": infrastructure cannot be nil and '
        "infrastructure.Status.InfrastructureName cannot be empty",
    ),
    "openstack-mapi2capi-t-set-providerspec-wrong-type": (
        'spec.providerSpec.value: Invalid value: {"apiVersion":"machine.openshift.io/v1alpha1","cloudName":"openstack",'
        '"cloudsSecret":{"name":"openstack-cloud-credentials","namespace":"openshift-machine-api"},"flavor":"m1.xlarge",'
        '"image":"rhcos","kind":"OpenstackProviderSpec","networks":[{"subnets":[{"filter":{"name":'
        '"mycluster-x7k2p-nodes","tags":"openshiftClusterID=mycluster-x7k2p"}}]}],"securityGroups":[{"name":'
        '"mycluster-x7k2p-worker"}],"serverGroupName":"mycluster-x7k2p-worker","serverMetadata":{"Name":'
        '"mycluster-x7k2p-worker","openshiftClusterID":"mycluster-x7k2p"},"tags":["openshiftClusterID=mycluster-x7k2p"],'
        '"trunk":true,"userDataSecret":["x"]}: error unmarshalling providerSpec: error unmarshaling JSON: while '
        "decoding JSON: json: cannot unmarshal array into Go struct field OpenstackProviderSpec.userDataSecret of type "
        "v1.SecretReference",
    ),
}
"""By case: the errors that ours gives where the recorded program crashes."""

_CASES: Final[dict[str, dict[Reason, str]]] = {
    "openstack-capi2mapi": {
        CRASHES: """
            real-mixed-029 real-mixed-032 real-mixed-089 t-abd-volume-noaz-panics t-set-template-null
        """,
        SINGLE_SECURITY_GROUP: """
            fuzz-loose-062 fuzz-strict-001 real-clean-045 real-clean-117 real-clean-171 real-clean-180
            real-clean-195 real-mixed-031 real-mixed-077 real-mixed-097 real-mixed-100 real-mixed-119 real-mixed-185
            real-mixed-190 t-port-id-sg-one-dropped
        """,
        IMAGE_OF_VOLUME: """
            fuzz-loose-002 fuzz-loose-008 fuzz-loose-062 fuzz-loose-071 fuzz-loose-113 fuzz-strict-000
            fuzz-strict-003 fuzz-strict-009 fuzz-strict-012 fuzz-strict-015 fuzz-strict-025 fuzz-strict-031
            fuzz-strict-033 fuzz-strict-042 fuzz-strict-043 fuzz-strict-048 fuzz-strict-049 fuzz-strict-055
            fuzz-strict-058 fuzz-strict-063 fuzz-strict-064 fuzz-strict-066 fuzz-strict-072 fuzz-strict-075
            fuzz-strict-081 fuzz-strict-084 fuzz-strict-085 fuzz-strict-091 fuzz-strict-094 fuzz-strict-096
            fuzz-strict-099 fuzz-strict-108 real-clean-006 real-clean-021 real-clean-024 real-clean-033
            real-clean-036 real-clean-057 real-clean-087 real-clean-114 real-clean-123 real-clean-135 real-clean-138
            real-clean-141 real-clean-159 real-clean-180 real-clean-186 real-clean-195 real-mixed-013 real-mixed-034
            real-mixed-038 real-mixed-047 real-mixed-067 real-mixed-074 real-mixed-097 real-mixed-100 real-mixed-101
            real-mixed-104 real-mixed-112 real-mixed-119 real-mixed-121 real-mixed-140 real-mixed-157 real-mixed-169
            real-mixed-170 real-mixed-173 real-mixed-175 real-mixed-176 real-mixed-187 real-mixed-199
            t-root-az-machine-lost t-root-az-name
        """,
    },
    "aws-mapi2capi": {
        CRASHES: """
            t-infra-null
        """,
        TAINTS: """
            real-mixed-095 real-mixed-098 real-mixed-199 t-taints
        """,
        NO_ROOT_VOLUME: """
            fuzz-loose-008 fuzz-loose-023 fuzz-loose-026 fuzz-loose-056 fuzz-loose-077 fuzz-strict-000
            fuzz-strict-001 fuzz-strict-003 fuzz-strict-004 fuzz-strict-006 fuzz-strict-009 fuzz-strict-010
            fuzz-strict-015 fuzz-strict-016 fuzz-strict-027 fuzz-strict-028 fuzz-strict-030 fuzz-strict-031
            fuzz-strict-034 fuzz-strict-043 fuzz-strict-048 fuzz-strict-052 fuzz-strict-055 fuzz-strict-058
            fuzz-strict-061 fuzz-strict-063 fuzz-strict-064 fuzz-strict-066 fuzz-strict-072 fuzz-strict-078
            fuzz-strict-079 fuzz-strict-081 fuzz-strict-085 fuzz-strict-090 fuzz-strict-094 fuzz-strict-096
            fuzz-strict-099 fuzz-strict-102 fuzz-strict-105 fuzz-strict-109 fuzz-strict-111 fuzz-strict-115
            fuzz-strict-117 real-clean-021 real-clean-024 real-clean-027 real-clean-042 real-clean-045
            real-clean-081 real-clean-090 real-clean-183 real-clean-192 real-mixed-005 real-mixed-040 real-mixed-044
            real-mixed-047 real-mixed-065 real-mixed-073 real-mixed-107 real-mixed-124 real-mixed-133 real-mixed-136
            real-mixed-170 real-mixed-175 real-mixed-179 real-mixed-182 real-mixed-184 real-mixed-196
            t-bd-data-dot-true t-bd-noebs
        """,
    },
    "openstack-mapi2capi": {
        CRASHES: """
            t-infra-null t-set-providerspec-wrong-type
        """,
        TAINTS: """
            real-mixed-017 real-mixed-020 real-mixed-116 real-mixed-164 real-mixed-182 t-many-errors t-taints
        """,
        NETWORK_OPTIONS: """
            fuzz-loose-041 fuzz-strict-019 fuzz-strict-022 fuzz-strict-052 fuzz-strict-060 fuzz-strict-087
            fuzz-strict-094 fuzz-strict-112 fuzz-strict-114 fuzz-strict-115 fuzz-strict-117 real-clean-036
            real-clean-042 real-clean-072 real-clean-081 real-clean-084 real-clean-105 real-clean-117 real-clean-135
            real-clean-138 real-clean-144 real-clean-159 real-clean-168 real-clean-180 real-clean-192 real-clean-198
            real-mixed-004 real-mixed-008 real-mixed-038 real-mixed-043 real-mixed-055 real-mixed-061 real-mixed-065
            real-mixed-067 real-mixed-076 real-mixed-079 real-mixed-085 real-mixed-095 real-mixed-097 real-mixed-100
            real-mixed-121 real-mixed-122 real-mixed-124 real-mixed-125 real-mixed-128 real-mixed-130 real-mixed-133
            real-mixed-134 real-mixed-137 real-mixed-163 real-mixed-172 real-mixed-178 real-mixed-190
            t-net-subnets-only-network-portsecurity-lost
        """,
        SUBNET_OF_FIXED_IP: """
            fuzz-loose-059 fuzz-strict-033 fuzz-strict-039 fuzz-strict-042 fuzz-strict-045 fuzz-strict-058
            fuzz-strict-067 real-clean-018 real-clean-024 real-clean-030 real-clean-036 real-clean-039
            real-clean-063 real-clean-069 real-clean-072 real-clean-081 real-clean-084 real-clean-096 real-clean-099
            real-clean-108 real-clean-117 real-clean-132 real-clean-135 real-clean-138 real-clean-144 real-clean-153
            real-clean-177 real-clean-198 real-mixed-004 real-mixed-007 real-mixed-008 real-mixed-014 real-mixed-019
            real-mixed-026 real-mixed-038 real-mixed-043 real-mixed-053 real-mixed-055 real-mixed-058 real-mixed-061
            real-mixed-065 real-mixed-071 real-mixed-079 real-mixed-097 real-mixed-098 real-mixed-100 real-mixed-110
            real-mixed-121 real-mixed-124 real-mixed-125 real-mixed-134 real-mixed-136 real-mixed-137 real-mixed-173
            real-mixed-175 real-mixed-178 real-mixed-190 t-port-full
        """,
        ID_OR_FILTER: """
            fuzz-loose-059 fuzz-strict-033 fuzz-strict-039 fuzz-strict-042 fuzz-strict-045 fuzz-strict-052
            fuzz-strict-058 fuzz-strict-060 fuzz-strict-067 fuzz-strict-094 fuzz-strict-114 real-clean-018
            real-clean-024 real-clean-030 real-clean-036 real-clean-039 real-clean-048 real-clean-063 real-clean-069
            real-clean-072 real-clean-081 real-clean-084 real-clean-087 real-clean-093 real-clean-096 real-clean-099
            real-clean-108 real-clean-117 real-clean-132 real-clean-135 real-clean-138 real-clean-144 real-clean-150
            real-clean-153 real-clean-159 real-clean-168 real-clean-177 real-clean-180 real-clean-198 real-mixed-004
            real-mixed-007 real-mixed-008 real-mixed-014 real-mixed-019 real-mixed-026 real-mixed-038 real-mixed-043
            real-mixed-053 real-mixed-055 real-mixed-058 real-mixed-061 real-mixed-065 real-mixed-071 real-mixed-079
            real-mixed-095 real-mixed-097 real-mixed-098 real-mixed-100 real-mixed-110 real-mixed-121 real-mixed-122
            real-mixed-124 real-mixed-125 real-mixed-128 real-mixed-130 real-mixed-134 real-mixed-136 real-mixed-137
            real-mixed-163 real-mixed-172 real-mixed-173 real-mixed-175 real-mixed-178 real-mixed-190
            t-net-subnet-networkid-warn t-net-subnet-networkid-warn-index-bug t-net-subnets-only
            t-net-uuid-and-subnet-portsecurity-ignored t-net-uuid-and-subnets t-port-full
        """,
        NAMED_ZONE: """
            fuzz-strict-010 fuzz-strict-033 fuzz-strict-052 real-clean-024 real-clean-030 real-clean-051
            real-clean-078 real-clean-081 real-clean-084 real-clean-090 real-clean-096 real-clean-099 real-clean-105
            real-clean-135 real-clean-138 real-clean-177 real-clean-180 real-clean-186 real-mixed-007 real-mixed-040
            real-mixed-055 real-mixed-064 real-mixed-071 real-mixed-079 real-mixed-097 real-mixed-100 real-mixed-122
            real-mixed-128 real-mixed-134 real-mixed-172 real-mixed-178 real-mixed-199 t-abd-volume-noaz
        """,
        TAGS_ONCE: """
            real-clean-063 real-clean-087 real-clean-135 real-clean-144 real-clean-150 real-clean-153 real-clean-159
            real-clean-177 real-mixed-004 real-mixed-035 real-mixed-043 real-mixed-055 real-mixed-061 real-mixed-065
            real-mixed-070 real-mixed-071 real-mixed-079 real-mixed-095 real-mixed-098 real-mixed-121 real-mixed-175
            t-net-subnets-only-porttags-alias t-net-subnets-only-porttags-alias-five
        """,
        INDEX_OF_NETWORK: """
            real-mixed-079 real-mixed-119 real-mixed-130 t-net-subnet-networkid-warn-index-bug
        """,
        SOURCE_UUID: """
            fuzz-loose-002 fuzz-loose-005 fuzz-loose-029 fuzz-loose-041 fuzz-loose-092 fuzz-loose-095 fuzz-loose-110
            fuzz-loose-119 fuzz-strict-001 fuzz-strict-004 fuzz-strict-007 fuzz-strict-010 fuzz-strict-018
            fuzz-strict-019 fuzz-strict-022 fuzz-strict-028 fuzz-strict-037 fuzz-strict-040 fuzz-strict-045
            fuzz-strict-052 fuzz-strict-060 fuzz-strict-078 fuzz-strict-081 fuzz-strict-082 fuzz-strict-084
            fuzz-strict-094 fuzz-strict-097 real-mixed-004 real-mixed-028 real-mixed-055 real-mixed-058
            real-mixed-086 real-mixed-094 real-mixed-121 real-mixed-122 real-mixed-128 real-mixed-169 real-mixed-178
            real-mixed-184
        """,
        PORT_SECURITY: """
            fuzz-loose-014 real-clean-039 real-clean-048 real-mixed-014 real-mixed-071 real-mixed-101
            t-net-subnets-only-portsecurity t-port-portsecurity-true
        """,
        GROUP_BY_ID: """
            fuzz-loose-011 fuzz-loose-029 fuzz-loose-041 fuzz-strict-007 fuzz-strict-012 fuzz-strict-016
            fuzz-strict-058 fuzz-strict-067 fuzz-strict-114 real-clean-036 real-clean-069 real-clean-099
            real-clean-108 real-mixed-004 real-mixed-110 real-mixed-121 real-mixed-163 real-mixed-172 real-mixed-190
        """,
        NO_NETWORK: """
            t-net-filter-only-deprecated
        """,
        SOURCE_IMAGE: """
            fuzz-loose-002 fuzz-loose-005 fuzz-loose-029 fuzz-loose-041 fuzz-strict-001 fuzz-strict-004
            fuzz-strict-007 fuzz-strict-010 fuzz-strict-018 fuzz-strict-019 fuzz-strict-022 fuzz-strict-028
            fuzz-strict-037 fuzz-strict-040 fuzz-strict-045 fuzz-strict-052 fuzz-strict-060 fuzz-strict-078
            fuzz-strict-081 fuzz-strict-082 fuzz-strict-084 fuzz-strict-094 fuzz-strict-097 real-mixed-004
            real-mixed-055 real-mixed-058 real-mixed-121 real-mixed-122 real-mixed-128 real-mixed-178
        """,
    },
}


def _by_case() -> dict[str, tuple[Reason, ...]]:
    found: dict[str, tuple[Reason, ...]] = {}
    for file, reasons in _CASES.items():
        for reason, cases in reasons.items():
            for case in cases.split():
                name = f"{file}-{case}"
                found[name] = (*found.get(name, ()), reason)
    return found


DEVIATIONS: Final = _by_case()
"""By file and case: the reasons for which our result differs."""
