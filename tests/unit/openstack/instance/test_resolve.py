"""From filters to IDs: what is asked, what is chosen, and what a user reads when a choice cannot be made."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from windlass.openstack.cloud.failures import CloudFailure, Unavailable
from windlass.openstack.cloud.inventory import MARK
from windlass.openstack.cloud.query import EXTENSIONS, Query
from windlass.openstack.cloud.resources import (
    Extension,
    Flavor,
    Image,
    Network,
    Resource,
    SecurityGroup,
    ServerGroup,
    Subnet,
)
from windlass.openstack.instance.resolve import queries, resolve
from windlass.openstack.instance.spec import (
    FixedAddress,
    InstanceSpec,
    LocalDisk,
    PortSpec,
    Problem,
    Resolved,
    ResolvedAddress,
    ResolvedPort,
    ResolvedVolume,
    VolumeSpec,
)


def named(kind: Any, name: str, **more: Any) -> Query:
    return Query(kind, filters=(("name", name),), **more)


IMAGE, FLAVOR = named("image", "rhcos"), named("flavor", "m1.small")
LAN, STORAGE = Query("network", id="lan"), named("network", "storage")
NODES, EAST, OTHERS = Query("subnet", id="nodes"), named("subnet", "east"), named("subnet", "others")
WEB = named("security group", "web")
OWN_WEB = replace(WEB, own=True)
NEAR = named("server group", "near")
MINIMAL = InstanceSpec(name="w", image=Query("image", id="i"), flavor=Query("flavor", id="f"), network=LAN)
BY_NAME = replace(MINIMAL, image=IMAGE, flavor=FLAVOR)

Answers = dict[Query, "tuple[Resource, ...] | CloudFailure"]
ANSWERS: Answers = {
    IMAGE: (Image(id="i", name="rhcos", status="active"),),
    FLAVOR: (Flavor(id="f", name="m1.small"),),
    STORAGE: (Network(id="s"),),
    NODES: (Subnet(id="nodes", network_id="lan"),),
    EAST: (Subnet(id="east", network_id="s"),),
    OTHERS: (Subnet(id="o1", network_id="s"), Subnet(id="o2", network_id="lan")),
    OWN_WEB: (SecurityGroup(id="g1"), SecurityGroup(id="g2")),
    NEAR: (ServerGroup(id="n"),),
    EXTENSIONS: (Extension("trunk"), Extension("standard-attr-tag")),
}
DOWN = Unavailable("network", "no answer", code=503)


def resolved(spec: InstanceSpec, answers: Mapping[Query, Any] | None = None) -> Resolved:
    found = resolve(spec, ANSWERS if answers is None else answers)
    assert isinstance(found, Resolved), found
    return found


def the_port(port: PortSpec, spec: InstanceSpec = MINIMAL) -> ResolvedPort:
    return resolved(replace(spec, ports=(port,))).ports[0]


def problems(spec: InstanceSpec, answers: Mapping[Query, Any] | None = None) -> list[tuple[str, str, str]]:
    found = resolve(spec, ANSWERS if answers is None else answers)
    assert isinstance(found, tuple), found
    return [(each.kind, each.field, each.message) for each in found if isinstance(each, Problem)]


# What is asked


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        pytest.param(MINIMAL, (), id="ids cost no request"),
        pytest.param(BY_NAME, (IMAGE, FLAVOR), id="names of image and flavor"),
        pytest.param(replace(MINIMAL, network=STORAGE), (STORAGE,), id="a network by filter"),
        pytest.param(replace(MINIMAL, ports=(PortSpec(network=STORAGE),) * 2), (STORAGE,), id="each query once"),
        pytest.param(replace(MINIMAL, subnets=(NODES,)), (NODES,), id="a subnet by id is asked for"),
        pytest.param(replace(MINIMAL, groups=(WEB, Query("security group", id="g"))), (OWN_WEB,), id="own groups"),
        pytest.param(
            replace(MINIMAL, groups=(Query("security group", filters=(("project_id", "p"),)),)),
            (Query("security group", filters=(("project_id", "p"),)),),
            id="groups of a named project",
        ),
        pytest.param(replace(MINIMAL, trunk=True), (EXTENSIONS,), id="extensions for a trunk"),
        pytest.param(replace(MINIMAL, trunk=True, ports=(PortSpec(trunk=False),)), (), id="overridden"),
        pytest.param(replace(MINIMAL, server_group=NEAR), (NEAR,), id="a server group"),
        pytest.param(replace(MINIMAL, ports=()), (), id="no ports"),
        pytest.param(replace(MINIMAL, ports=(PortSpec(id="p", network=STORAGE),)), (), id="a port that exists"),
    ],
)
def test_everything_is_asked_at_once_and_ids_are_trusted(spec: InstanceSpec, asked: tuple[Query, ...]) -> None:
    assert queries(spec) == asked


# What is chosen


def test_ids_are_copied_and_names_are_looked_up() -> None:
    spec = replace(BY_NAME, server_group=NEAR)
    found = resolved(spec)
    assert (found.image_id, found.flavor_id, found.server_group_id) == ("i", "f", "n")
    assert resolved(MINIMAL) == replace(found, server_group_id="")


def test_of_several_images_of_one_name_the_active_one_is_used() -> None:
    images = (Image(id="old", status="queued"), Image(id="new", status="active"), Image(id="bad", status="killed"))
    assert resolved(BY_NAME, ANSWERS | {IMAGE: images}).image_id == "new"


@pytest.mark.parametrize(
    ("port", "index", "name"),
    [
        pytest.param(PortSpec(), 0, "w-0", id="index"),
        pytest.param(PortSpec(), 2, "w-2", id="its own index"),
        pytest.param(PortSpec(suffix="mgmt"), 1, "w-mgmt", id="suffix"),
    ],
)
def test_a_port_is_named_by_its_suffix_or_index(port: PortSpec, index: int, name: str) -> None:
    ports = (PortSpec(suffix="a"), PortSpec(suffix="b"), PortSpec(suffix="c"))
    spec = replace(MINIMAL, ports=(*ports[:index], port, *ports[index + 1 :]))
    assert resolved(spec).ports[index].name == name


@pytest.mark.parametrize(
    ("ports", "subnets", "network", "addresses"),
    [
        pytest.param((), (), "lan", (), id="no ports: one on the default network"),
        pytest.param((PortSpec(),), (NODES,), "lan", (ResolvedAddress("nodes"),), id="with the default subnets"),
        pytest.param(
            (PortSpec(addresses=(FixedAddress(address="10.0.0.9"),)),),
            (NODES,),
            "lan",
            (ResolvedAddress("", "10.0.0.9"),),
            id="its own address on the default network",
        ),
        pytest.param((PortSpec(network=Query("network", id="x")),), (NODES,), "x", (), id="by id"),
        pytest.param((PortSpec(network=STORAGE),), (), "s", (), id="by filter"),
        pytest.param(
            (PortSpec(network=STORAGE, addresses=(FixedAddress(OTHERS, "10.1.0.9"),)),),
            (),
            "s",
            (ResolvedAddress("o1", "10.1.0.9"),),
            id="a subnet of the port's network",
        ),
        pytest.param(
            (PortSpec(addresses=(FixedAddress(NODES),)),), (), "lan", (ResolvedAddress("nodes"),), id="by subnet id"
        ),
        pytest.param(
            (PortSpec(addresses=(FixedAddress(EAST),)),), (), "s", (ResolvedAddress("east"),), id="by subnet filter"
        ),
        pytest.param(
            (PortSpec(addresses=(FixedAddress(OTHERS), FixedAddress(NODES))),),
            (),
            "lan",
            (ResolvedAddress("o2"), ResolvedAddress("nodes")),
            id="many, then unique",
        ),
    ],
)
def test_the_network_of_a_port_is_its_own_or_inferred_or_the_default(
    ports: tuple[PortSpec, ...], subnets: tuple[Query, ...], network: str, addresses: tuple[ResolvedAddress, ...]
) -> None:
    port = resolved(replace(MINIMAL, ports=ports, subnets=subnets)).ports[0]
    assert (port.network_id, port.addresses) == (network, addresses)


GROUP, OTHER = Query("security group", id="g"), Query("security group", id="h")


@pytest.mark.parametrize(
    ("server", "port", "groups"),
    [
        pytest.param((), PortSpec(), (), id="none: Neutron's default"),
        pytest.param((GROUP,), PortSpec(), ("g",), id="those of the server"),
        pytest.param((GROUP,), PortSpec(groups=(OTHER,)), ("h",), id="the port overrides"),
        pytest.param((GROUP,), PortSpec(groups=()), (), id="the port wants none"),
        pytest.param((GROUP,), PortSpec(port_security=False), (), id="security off"),
        pytest.param((WEB, Query("security group", id="g2")), PortSpec(), ("g1", "g2"), id="all matches, each once"),
    ],
)
def test_security_groups_are_those_of_the_port_else_of_the_server(
    server: tuple[Query, ...], port: PortSpec, groups: tuple[str, ...]
) -> None:
    assert the_port(port, replace(MINIMAL, groups=server)).groups == groups


@pytest.mark.parametrize(
    ("server", "port", "trunk"),
    [
        pytest.param(True, None, True, id="inherited"),
        pytest.param(True, False, False, id="overridden off"),
        pytest.param(False, True, True, id="overridden on"),
        pytest.param(False, None, False, id="none"),
    ],
)
def test_a_port_inherits_the_trunk_of_the_server(server: bool, port: bool | None, trunk: bool) -> None:
    assert the_port(PortSpec(trunk=port), replace(MINIMAL, trunk=server)).trunk is trunk


def test_tags_are_those_of_the_server_and_then_of_the_port_each_once() -> None:
    assert the_port(PortSpec(tags=("c", "a")), replace(MINIMAL, tags=("a", "b"))).tags == ("a", "b", "c")


def test_ports_that_exist_are_taken_as_they_are() -> None:
    spec = replace(MINIMAL, network=None, trunk=True, ports=(PortSpec(id="p"), PortSpec(id="q")))
    assert resolved(spec).ports == (ResolvedPort(id="p"), ResolvedPort(id="q"))


PAIRS = ({"ip_address": "10.0.0.100"},)


@pytest.mark.parametrize(
    ("secure", "pairs"),
    [
        pytest.param(None, PAIRS, id="as the network has it"),
        pytest.param(True, PAIRS, id="on"),
        pytest.param(False, (), id="off"),
    ],
)
def test_address_pairs_are_dropped_without_port_security(secure: bool | None, pairs: tuple[Any, ...]) -> None:
    port = the_port(PortSpec(port_security=secure, address_pairs=PAIRS))
    assert (port.address_pairs, port.port_security) == (pairs, secure)


@pytest.mark.parametrize(
    ("port", "cluster", "description"),
    [
        (PortSpec(), "", ""),
        (PortSpec(), "one", "Created by Windlass for cluster one"),
        (PortSpec(description="mine"), "one", "mine"),
    ],
)
def test_a_port_says_which_cluster_it_is_for(port: PortSpec, cluster: str, description: str) -> None:
    assert the_port(port, replace(MINIMAL, cluster=cluster)).description == description


def test_volumes_are_named_after_the_server_and_local_disks_are_none() -> None:
    spec = replace(
        MINIMAL,
        zone="az2",
        root=VolumeSpec(name="root", size=20, type="ssd", zone="az1"),
        disks=(
            VolumeSpec(name="etcd", size=5, zone_of_server=True),
            LocalDisk(name="tmp", size=3),
            VolumeSpec(name="logs", size=1),
        ),
    )
    assert resolved(spec).volumes == (
        ResolvedVolume(name="w-root", size=20, type="ssd", zone="az1"),
        ResolvedVolume(name="w-etcd", size=5, zone="az2", tag="etcd"),
        ResolvedVolume(name="w-logs", size=1, tag="logs"),
    )


# What is in the way


@pytest.mark.parametrize(
    ("spec", "answers", "field", "words"),
    [
        pytest.param(BY_NAME, {IMAGE: ()}, "image", "no image matches image (name rhcos)", id="no image"),
        pytest.param(
            BY_NAME,
            {IMAGE: (Image(id="a", status="active"), Image(id="b", status="active"))},
            "image",
            "2 images match image (name rhcos): name one by its ID",
            id="many images",
        ),
        pytest.param(BY_NAME, {IMAGE: (Image(id="a", status="queued"),)}, "image", "is queued", id="not active"),
        pytest.param(BY_NAME, {FLAVOR: ()}, "flavor", "no flavor matches", id="no flavor"),
        pytest.param(replace(MINIMAL, server_group=NEAR), {NEAR: ()}, "server_group", "no server group", id="no group"),
        pytest.param(replace(MINIMAL, network=STORAGE), {STORAGE: ()}, "network", "no network", id="no network"),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(network=STORAGE),)),
            {STORAGE: (Network(id="1"), Network(id="2"))},
            "ports[0].network",
            "2 networks match network (name storage)",
            id="two networks",
        ),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(), PortSpec(groups=(WEB,)))),
            {OWN_WEB: ()},
            "ports[1].groups[0]",
            "no security group matches",
            id="no security group",
        ),
        pytest.param(
            replace(MINIMAL, network=None, ports=(PortSpec(addresses=(FixedAddress(NODES),)),)),
            {NODES: ()},
            "ports[0].addresses[0].subnet",
            "no subnet matches subnet (ID nodes)",
            id="none",
        ),
        pytest.param(
            replace(MINIMAL, network=None, ports=(PortSpec(addresses=(FixedAddress(OTHERS),)),)),
            {},
            "ports[0].network",
            "subnet (name others) matches 2",
            id="many",
        ),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(network=STORAGE, addresses=(FixedAddress(NODES),)),)),
            {},
            "ports[0].addresses[0].subnet",
            "no match of subnet (ID nodes) is in network s",
            id="a subnet of another network",
        ),
        pytest.param(
            replace(MINIMAL, trunk=True), {EXTENSIONS: ()}, "ports[0].trunk", "no trunk ports", id="no trunk extension"
        ),
    ],
)
def test_what_matches_nothing_or_too_much_is_told_with_field_and_count(
    spec: InstanceSpec, answers: Answers, field: str, words: str
) -> None:
    [(kind, where, message)] = problems(spec, ANSWERS | answers)
    assert (kind, where) == ("Dependency", field)
    assert words in message
    assert ": " in message  # the remedy


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        pytest.param(replace(MINIMAL, network=None), "ports[0].network", "no default network", id="no network"),
        pytest.param(replace(MINIMAL, network=None, ports=()), "ports[0].network", "no default network", id="S31"),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(port_security=False, groups=(GROUP,)),)),
            "ports[0].groups",
            "without port security",
            id="P4",
        ),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(options={"name": "x", "tenant_id": "y", "qos": "z"}),)),
            "ports[0].options",
            "name, tenant_id may not be set",
            id="options of ours",
        ),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(trusted=True, options={"binding:profile": {}}),)),
            "ports[0].options",
            "binding:profile",
            id="two profiles",
        ),
        pytest.param(
            replace(MINIMAL, ports=(PortSpec(suffix="1"), PortSpec())),
            "ports",
            "the name w-1",
            id="one name for two ports",
        ),
        pytest.param(
            replace(MINIMAL, root=VolumeSpec(name="root", size=1), disks=(LocalDisk(name="root", size=1),)),
            "disks",
            "`root`",
            id="one name for two disks",
        ),
        pytest.param(replace(MINIMAL, metadata={MARK: "x"}), "metadata", "use another key", id="the mark's key"),
    ],
)
def test_what_contradicts_itself_is_invalid(spec: InstanceSpec, field: str, words: str) -> None:
    [(kind, where, message)] = problems(spec)
    assert (kind, where) == ("Invalid", field)
    assert words in message


def test_everything_in_the_way_is_told_at_once() -> None:
    spec = replace(BY_NAME, network=None, metadata={MARK: "x"})
    assert [field for _, field, _ in problems(spec, {})] == ["metadata", "image", "flavor", "ports[0].network"]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(replace(MINIMAL, ports=(PortSpec(network=STORAGE),)), id="network"),
        pytest.param(replace(MINIMAL, groups=(WEB,)), id="group"),
        pytest.param(replace(MINIMAL, trunk=True), id="extensions"),
        pytest.param(replace(MINIMAL, subnets=(OTHERS,)), id="subnet"),
        pytest.param(
            replace(MINIMAL, network=None, ports=(PortSpec(addresses=(FixedAddress(OTHERS),)),)), id="inferred"
        ),
        pytest.param(BY_NAME, id="image and flavor"),
    ],
)
def test_a_question_that_failed_is_a_failure_and_not_an_absence(spec: InstanceSpec) -> None:
    answers: Answers = dict.fromkeys(queries(spec), DOWN)
    assert resolve(spec, answers) == (DOWN,)
