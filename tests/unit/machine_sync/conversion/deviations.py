"""Where our conversion deliberately differs from the recorded one: by file and case, with the reason.

Everything that is not listed here must be equal to the letter. What is listed must differ, and only where its reasons
say: in parts of the result whose path matches, or in warnings. A template whose spec differs has another name too.
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
TAGS_ONCE: Final = Reason(
    "tags of a network and its subnets are added up, so that they double with every round trip, and some overwrite "
    "those of other ports; ours has each tag once",
    re.compile(r"\.ports\[\]\.tags(\[\])?$"),
)
INDEX_OF_NETWORK: Final = Reason("a warning about a network has the index of a subnet in the place of the network's")
SINGLE_SECURITY_GROUP: Final = Reason(
    "the only security group of a port is lost; ours keeps it",
    re.compile(r"\.ports\[\]\.securityGroups$"),
)
DROPPED: Final = Reason(
    "fields that are dropped, or become others, without a word have a warning of ours, after the recorded ones"
)

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
    "aws-capi2mapi": {
        DROPPED: """
            fuzz-loose-005 fuzz-loose-008 fuzz-loose-014 fuzz-loose-017 fuzz-loose-023 fuzz-loose-035 fuzz-loose-038
            fuzz-loose-041 fuzz-loose-044 fuzz-loose-047 fuzz-loose-059 fuzz-loose-068 fuzz-loose-071 fuzz-loose-074
            fuzz-loose-077 fuzz-loose-080 fuzz-loose-083 fuzz-loose-086 fuzz-loose-089 fuzz-loose-092 fuzz-loose-095
            fuzz-loose-098 fuzz-loose-104 fuzz-loose-119 fuzz-strict-001 fuzz-strict-003 fuzz-strict-006 fuzz-strict-007
            fuzz-strict-009 fuzz-strict-012 fuzz-strict-013 fuzz-strict-015 fuzz-strict-016 fuzz-strict-018
            fuzz-strict-021 fuzz-strict-024 fuzz-strict-025 fuzz-strict-028 fuzz-strict-030 fuzz-strict-036
            fuzz-strict-037 fuzz-strict-042 fuzz-strict-043 fuzz-strict-049 fuzz-strict-052 fuzz-strict-057
            fuzz-strict-058 fuzz-strict-060 fuzz-strict-061 fuzz-strict-063 fuzz-strict-067 fuzz-strict-073
            fuzz-strict-075 fuzz-strict-081 fuzz-strict-082 fuzz-strict-084 fuzz-strict-087 fuzz-strict-091
            fuzz-strict-093 fuzz-strict-094 fuzz-strict-097 fuzz-strict-099 fuzz-strict-102 fuzz-strict-103
            fuzz-strict-106 fuzz-strict-115 fuzz-strict-117 real-clean-003 real-clean-009 real-clean-012 real-clean-018
            real-clean-024 real-clean-045 real-clean-048 real-clean-054 real-clean-057 real-clean-066 real-clean-078
            real-clean-087 real-clean-108 real-clean-123 real-clean-126 real-clean-135 real-clean-141 real-clean-147
            real-clean-159 real-clean-162 real-clean-165 real-clean-192 real-clean-195 real-mixed-005 real-mixed-007
            real-mixed-010 real-mixed-022 real-mixed-025 real-mixed-034 real-mixed-035 real-mixed-040 real-mixed-041
            real-mixed-043 real-mixed-044 real-mixed-047 real-mixed-052 real-mixed-053 real-mixed-059 real-mixed-061
            real-mixed-065 real-mixed-067 real-mixed-070 real-mixed-071 real-mixed-074 real-mixed-089 real-mixed-094
            real-mixed-098 real-mixed-100 real-mixed-109 real-mixed-113 real-mixed-119 real-mixed-121 real-mixed-122
            real-mixed-124 real-mixed-128 real-mixed-133 real-mixed-134 real-mixed-139 real-mixed-140 real-mixed-145
            real-mixed-151 real-mixed-152 real-mixed-164 real-mixed-166 real-mixed-167 real-mixed-169 real-mixed-170
            real-mixed-172 real-mixed-175 real-mixed-178 real-mixed-181 real-mixed-184 real-mixed-185 real-mixed-188
            real-mixed-193 real-mixed-194 real-mixed-196 t-cpu-unknown t-elasticippool-silently-dropped
            t-private-dns-ignored t-readinessgates-silently-dropped t-vol-devicename
        """,
    },
    "openstack-capi2mapi": {
        CRASHES: """
            real-mixed-029 real-mixed-032 real-mixed-089 t-abd-volume-noaz-panics t-set-template-null
        """,
        SINGLE_SECURITY_GROUP: """
            fuzz-loose-062 fuzz-strict-001 real-clean-045 real-clean-117 real-clean-171 real-clean-180 real-clean-195
            real-mixed-031 real-mixed-077 real-mixed-097 real-mixed-100 real-mixed-119 real-mixed-185 real-mixed-190
            t-port-id-sg-one-dropped
        """,
        DROPPED: """
            fuzz-loose-008 fuzz-loose-011 fuzz-loose-014 fuzz-loose-017 fuzz-loose-023 fuzz-loose-026 fuzz-loose-038
            fuzz-loose-047 fuzz-loose-053 fuzz-loose-056 fuzz-loose-059 fuzz-loose-062 fuzz-loose-068 fuzz-loose-071
            fuzz-loose-080 fuzz-loose-086 fuzz-loose-089 fuzz-loose-098 fuzz-loose-101 fuzz-loose-110 fuzz-loose-113
            fuzz-loose-116 fuzz-strict-001 fuzz-strict-003 fuzz-strict-004 fuzz-strict-009 fuzz-strict-010
            fuzz-strict-012 fuzz-strict-013 fuzz-strict-015 fuzz-strict-018 fuzz-strict-021 fuzz-strict-022
            fuzz-strict-025 fuzz-strict-027 fuzz-strict-028 fuzz-strict-031 fuzz-strict-033 fuzz-strict-039
            fuzz-strict-042 fuzz-strict-043 fuzz-strict-048 fuzz-strict-049 fuzz-strict-051 fuzz-strict-054
            fuzz-strict-055 fuzz-strict-058 fuzz-strict-063 fuzz-strict-066 fuzz-strict-067 fuzz-strict-069
            fuzz-strict-073 fuzz-strict-075 fuzz-strict-081 fuzz-strict-084 fuzz-strict-085 fuzz-strict-087
            fuzz-strict-090 fuzz-strict-091 fuzz-strict-093 fuzz-strict-094 fuzz-strict-096 fuzz-strict-097
            fuzz-strict-099 fuzz-strict-105 fuzz-strict-108 fuzz-strict-109 fuzz-strict-114 fuzz-strict-115
            real-clean-000 real-clean-006 real-clean-009 real-clean-012 real-clean-021 real-clean-024 real-clean-033
            real-clean-036 real-clean-057 real-clean-069 real-clean-072 real-clean-075 real-clean-084 real-clean-087
            real-clean-090 real-clean-093 real-clean-114 real-clean-117 real-clean-123 real-clean-132 real-clean-135
            real-clean-138 real-clean-141 real-clean-144 real-clean-153 real-clean-159 real-clean-162 real-clean-168
            real-clean-171 real-clean-180 real-clean-183 real-clean-186 real-clean-189 real-clean-195 real-mixed-001
            real-mixed-004 real-mixed-008 real-mixed-013 real-mixed-017 real-mixed-020 real-mixed-022 real-mixed-025
            real-mixed-026 real-mixed-031 real-mixed-034 real-mixed-035 real-mixed-037 real-mixed-038 real-mixed-040
            real-mixed-043 real-mixed-046 real-mixed-049 real-mixed-052 real-mixed-053 real-mixed-055 real-mixed-067
            real-mixed-071 real-mixed-073 real-mixed-074 real-mixed-082 real-mixed-085 real-mixed-086 real-mixed-092
            real-mixed-095 real-mixed-097 real-mixed-101 real-mixed-104 real-mixed-107 real-mixed-109 real-mixed-110
            real-mixed-112 real-mixed-115 real-mixed-116 real-mixed-118 real-mixed-121 real-mixed-128 real-mixed-133
            real-mixed-134 real-mixed-136 real-mixed-140 real-mixed-145 real-mixed-146 real-mixed-148 real-mixed-152
            real-mixed-166 real-mixed-167 real-mixed-170 real-mixed-173 real-mixed-175 real-mixed-176 real-mixed-178
            real-mixed-181 real-mixed-184 real-mixed-185 real-mixed-187 real-mixed-188 real-mixed-190 real-mixed-191
            real-mixed-194 real-mixed-196 real-mixed-199 t-configref-ignored t-identity-noname t-root-az-machine-lost
            t-set-naming-silently-dropped t-sgr-id t-silently-dropped
        """,
    },
    "aws-mapi2capi": {
        CRASHES: """
            t-infra-null
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
        DROPPED: """
            fuzz-loose-005 fuzz-loose-023 fuzz-loose-026 fuzz-loose-050 fuzz-loose-056 fuzz-loose-068 fuzz-loose-077
            fuzz-loose-092 fuzz-loose-101 fuzz-loose-116 fuzz-strict-000 fuzz-strict-003 fuzz-strict-009
            fuzz-strict-010 fuzz-strict-028 fuzz-strict-031 fuzz-strict-087 fuzz-strict-099 fuzz-strict-111
            real-clean-000 real-clean-015 real-clean-024 real-clean-066 real-clean-111 real-clean-171 real-clean-183
            real-clean-192 real-mixed-014 real-mixed-022 real-mixed-028 real-mixed-041 real-mixed-044 real-mixed-049
            real-mixed-058 real-mixed-068 real-mixed-073 real-mixed-077 real-mixed-091 real-mixed-097 real-mixed-115
            real-mixed-118 real-mixed-139 real-mixed-155 real-mixed-158 real-mixed-166 real-mixed-169 real-mixed-173
            real-mixed-176 real-mixed-178 real-mixed-193 real-mixed-194 real-mixed-199 t-host-dynamic-id-ignored
            t-host-unknown-affinity t-providerspec-unknown-field t-sg-arn-dropped t-subnet-arn-dropped
        """,
    },
    "openstack-mapi2capi": {
        CRASHES: """
            t-infra-null t-set-providerspec-wrong-type
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
            real-clean-108 real-clean-117 real-clean-132 real-clean-138 real-clean-144 real-clean-153 real-clean-177
            real-clean-198 real-mixed-007 real-mixed-008 real-mixed-014 real-mixed-019 real-mixed-026 real-mixed-038
            real-mixed-043 real-mixed-053 real-mixed-055 real-mixed-058 real-mixed-061 real-mixed-065 real-mixed-071
            real-mixed-079 real-mixed-097 real-mixed-098 real-mixed-100 real-mixed-121 real-mixed-124 real-mixed-125
            real-mixed-134 real-mixed-136 real-mixed-137 real-mixed-175 real-mixed-178 real-mixed-190 t-port-full
        """,
        TAGS_ONCE: """
            real-clean-087 real-clean-135 real-clean-144 real-clean-150 real-clean-159 real-mixed-004 real-mixed-055
            real-mixed-061 real-mixed-065 real-mixed-079 real-mixed-121 t-net-subnets-only-porttags-alias
            t-net-subnets-only-porttags-alias-five
        """,
        INDEX_OF_NETWORK: """
            real-mixed-079 real-mixed-119 real-mixed-130 t-net-subnet-networkid-warn-index-bug
        """,
        DROPPED: """
            fuzz-loose-002 fuzz-loose-005 fuzz-loose-008 fuzz-loose-011 fuzz-loose-014 fuzz-loose-023 fuzz-loose-026
            fuzz-loose-029 fuzz-loose-038 fuzz-loose-041 fuzz-loose-056 fuzz-loose-059 fuzz-loose-062 fuzz-loose-068
            fuzz-loose-083 fuzz-loose-092 fuzz-loose-095 fuzz-loose-098 fuzz-loose-101 fuzz-loose-104 fuzz-loose-110
            fuzz-loose-116 fuzz-loose-119 fuzz-strict-000 fuzz-strict-001 fuzz-strict-004 fuzz-strict-006
            fuzz-strict-007 fuzz-strict-010 fuzz-strict-012 fuzz-strict-016 fuzz-strict-018 fuzz-strict-019
            fuzz-strict-021 fuzz-strict-022 fuzz-strict-025 fuzz-strict-027 fuzz-strict-028 fuzz-strict-033
            fuzz-strict-037 fuzz-strict-039 fuzz-strict-040 fuzz-strict-042 fuzz-strict-043 fuzz-strict-045
            fuzz-strict-046 fuzz-strict-048 fuzz-strict-052 fuzz-strict-055 fuzz-strict-058 fuzz-strict-060
            fuzz-strict-067 fuzz-strict-073 fuzz-strict-075 fuzz-strict-076 fuzz-strict-078 fuzz-strict-081
            fuzz-strict-082 fuzz-strict-084 fuzz-strict-087 fuzz-strict-090 fuzz-strict-091 fuzz-strict-094
            fuzz-strict-097 fuzz-strict-105 fuzz-strict-109 fuzz-strict-111 fuzz-strict-112 fuzz-strict-114
            fuzz-strict-115 fuzz-strict-117 real-clean-024 real-clean-030 real-clean-036 real-clean-039 real-clean-042
            real-clean-048 real-clean-051 real-clean-063 real-clean-069 real-clean-072 real-clean-078 real-clean-081
            real-clean-084 real-clean-087 real-clean-093 real-clean-096 real-clean-099 real-clean-105 real-clean-108
            real-clean-111 real-clean-117 real-clean-132 real-clean-135 real-clean-138 real-clean-144 real-clean-150
            real-clean-153 real-clean-159 real-clean-168 real-clean-177 real-clean-180 real-clean-186 real-clean-192
            real-clean-198 real-mixed-002 real-mixed-004 real-mixed-005 real-mixed-007 real-mixed-008 real-mixed-010
            real-mixed-013 real-mixed-014 real-mixed-017 real-mixed-019 real-mixed-020 real-mixed-023 real-mixed-028
            real-mixed-034 real-mixed-035 real-mixed-038 real-mixed-043 real-mixed-044 real-mixed-046 real-mixed-049
            real-mixed-055 real-mixed-058 real-mixed-061 real-mixed-065 real-mixed-067 real-mixed-070 real-mixed-071
            real-mixed-076 real-mixed-077 real-mixed-079 real-mixed-085 real-mixed-086 real-mixed-094 real-mixed-097
            real-mixed-100 real-mixed-101 real-mixed-109 real-mixed-110 real-mixed-116 real-mixed-118 real-mixed-119
            real-mixed-121 real-mixed-122 real-mixed-124 real-mixed-125 real-mixed-128 real-mixed-130 real-mixed-133
            real-mixed-134 real-mixed-136 real-mixed-137 real-mixed-139 real-mixed-148 real-mixed-157 real-mixed-163
            real-mixed-164 real-mixed-169 real-mixed-172 real-mixed-173 real-mixed-175 real-mixed-178 real-mixed-182
            real-mixed-184 real-mixed-187 real-mixed-190 real-mixed-196 t-abd-unknown-type t-clouds-empty t-clouds-nil
            t-net-filter-only-deprecated t-net-subnet-full-filter t-net-subnets-only-portsecurity
            t-net-uuid-and-subnet-portsecurity-ignored t-port-full t-port-portsecurity-true t-port-sg-empty
            t-unsupported-silently-dropped
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
