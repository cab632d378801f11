"""Makes what a new cloud starts with, once per machine: empty databases, the service users, and a few public things.

A copy of it makes a cloud in ten seconds. It has the external network `public` (203.0.113.0/24), the image `cirros`,
flavors `m1.tiny` to `m1.large`, three availability zones with a host each, the volume type `windlass`, and the users
`admin`, `demo` and `alt`.
"""

import hashlib
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import cast

from openstack.connection import Connection
from openstack.identity.v3._proxy import Proxy as Identity

from windlass.testing.binaries.cache import Folders
from windlass.testing.binaries.progress import Clock, Report
from windlass.testing.cloud import clouds, config, packages
from windlass.testing.cloud.errors import InstallFailed, StartFailed, end_of
from windlass.testing.cloud.layout import COMPUTES, PASSWORD, REGION, SERVICES, Layout
from windlass.testing.cloud.services import SITE, Services, program
from windlass.testing.plane.ports import free_ports
from windlass.testing.plane.waiting import wait_for

EXTERNAL_NETWORK = "public"
IMAGE = "cirros"
VOLUME_TYPE = "windlass"
FLAVORS = {
    "m1.tiny": (1, 512, 1),
    "m1.small": (1, 2048, 20),
    "m1.medium": (2, 4096, 40),
    "m1.large": (4, 8192, 80),
}
"""CPUs, MiB of memory, GiB of disk."""

_PLACE = "place"
"""The file that says where the seed was made: some databases hold its paths."""

_SOURCES = (
    Path(__file__),
    Path(config.__file__),
    SITE / "windlass_cloud" / "databases.py",
    SITE / "windlass_cloud" / "nova_driver.py",
)


def key() -> str:
    """The name of the seed: another environment, configuration or content makes another one."""
    digest = hashlib.sha256(packages.key().encode())
    for source in _SOURCES:
        digest.update(source.read_bytes())
    return f"seed-{digest.hexdigest()[:12]}"


def obtain(cache: Folders, *, report: Report) -> Path:
    """The seed, made now if it is not there: 35 s on two cores. For a holder of `cache.filling`.

    Raises InstallFailed.
    """
    if (found := cache.get(key())) is not None:
        return found
    clock = Clock()
    report("making OpenStack's databases; once, about 40 s")
    environment = packages.obtain(cache, report=report)
    with cache.incoming_for(key()) as staging:
        ports = dict(zip(SERVICES, free_ports(len(SERVICES)), strict=True))
        layout = Layout(staging, environment, ports)
        try:
            _make(layout)
        except StartFailed as problem:
            raise InstallFailed(str(problem)) from problem
        (staging / _PLACE).write_text(str(staging), encoding="utf-8")
    report(f"the databases are there ({clock})")
    return cache.root / key()


def plant(seed: Path, layout: Layout) -> None:
    """Copy the seed into a cloud: to its folders and its URLs, without the services that it leaves out."""
    shutil.copytree(seed / "state", layout.state)
    made_in = (seed / _PLACE).read_text(encoding="utf-8")
    with _writing(layout.database("keystone")) as keystone:
        for name, service in SERVICES.items():
            ids = "SELECT id FROM service WHERE type = ?"
            if name in layout.services:
                update = f"UPDATE endpoint SET url = ? WHERE service_id IN ({ids})"
                keystone.execute(update, (layout.endpoint(name), service.type))
            else:
                keystone.execute(f"DELETE FROM endpoint WHERE service_id IN ({ids})", (service.type,))
    move = "UPDATE {0} SET {1} = replace({1}, ?, ?)"
    for database, table, column in (
        ("nova_api", "cell_mappings", "database_connection"),
        ("glance", "image_locations", "value"),
    ):
        with _writing(layout.database(database)) as connection:
            connection.execute(move.format(table, column), (made_in, str(layout.folder)))


class _writing:  # noqa: N801
    """An SQLite file for a `with` block: committed and closed at its end."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path)

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.commit()
        self._connection.close()


def _make(layout: Layout) -> None:
    services = Services(layout)
    try:
        _make_databases(layout)
        services.start("keystone")
        _fill_keystone(_administrator(layout), layout)
        services.start(*layout.services)
        _fill_others(_administrator(layout))
        services.stop(*layout.services)
    finally:
        services.close()
    shutil.rmtree(layout.state / "tokens")
    for database in (layout.state / "db").glob("*.sqlite"):
        connection = sqlite3.connect(database)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        connection.close()


def _administrator(layout: Layout) -> Connection:
    return clouds.connect(clouds.entry(layout.endpoint("keystone"), None, **clouds.password("admin", "admin")))


def _make_databases(layout: Layout) -> None:
    identity = layout.endpoint("keystone")
    bootstrap = {
        "BOOTSTRAP_PASSWORD": PASSWORD,
        "BOOTSTRAP_REGION_ID": REGION,
        "BOOTSTRAP_ADMIN_URL": identity,
        "BOOTSTRAP_INTERNAL_URL": identity,
        "BOOTSTRAP_PUBLIC_URL": identity,
    }
    running = {}
    for service in layout.services:
        command = [*program(layout, "windlass_cloud.databases", **bootstrap), service, layout.etc(service)]
        with layout.log(f"databases-{service}").open("wb") as log:
            running[service] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for process in running.values():
        process.wait()
    for service, process in running.items():
        if process.returncode != 0:
            log_file = layout.log(f"databases-{service}")
            raise InstallFailed(
                f"the databases of {service} could not be made. The end of the log:\n{end_of(log_file)}"
            )


def _fill_keystone(admin: Connection, layout: Layout) -> None:
    identity = cast("Identity", admin.identity)
    roles = {role.name: role for role in identity.roles()}
    for name in ("service", "member", "reader", "manager", "load-balancer_member"):
        if name not in roles:
            roles[name] = identity.create_role(name=name)

    def add(user: str, project: str, *held: str) -> None:
        owned = identity.find_project(project) or identity.create_project(name=project, domain_id="default")
        made = identity.create_user(name=user, password=PASSWORD, domain_id="default", default_project_id=owned.id)
        for role in held:
            identity.assign_project_role_to_user(owned, made, roles[role])

    for name in layout.services:
        if name == "keystone":
            continue
        add(name, "service", "admin", "service")
        service = identity.create_service(name=name, type=SERVICES[name].type)
        for interface in ("public", "internal", "admin"):
            identity.create_endpoint(
                service_id=service.id, interface=interface, url=layout.endpoint(name), region_id=REGION
            )
    for name in ("demo", "alt"):
        add(name, name, "member", "load-balancer_member")


def _fill_others(admin: Connection) -> None:
    network = admin.network
    # Neutron's migrations would make these rules: without them new groups let nothing out.
    for family in ("IPv4", "IPv6"):
        network.create_default_security_group_rule(
            direction="egress", ethertype=family, used_in_default_sg=True, used_in_non_default_sg=True
        )
        network.create_default_security_group_rule(
            direction="ingress",
            ethertype=family,
            remote_group_id="PARENT",
            used_in_default_sg=True,
            used_in_non_default_sg=False,
        )
    external = network.create_network(
        name=EXTERNAL_NETWORK,
        is_router_external=True,
        is_shared=True,
        provider_network_type="flat",
        provider_physical_network=EXTERNAL_NETWORK,
        is_port_security_enabled=True,
    )
    network.create_subnet(
        name=EXTERNAL_NETWORK,
        network_id=external.id,
        ip_version=4,
        cidr="203.0.113.0/24",
        gateway_ip="203.0.113.1",
        is_dhcp_enabled=False,
        allocation_pools=[{"start": "203.0.113.10", "end": "203.0.113.250"}],
    )
    for name, (vcpus, ram, disk) in FLAVORS.items():
        admin.compute.create_flavor(name=name, vcpus=vcpus, ram=ram, disk=disk)
    admin.create_image(
        IMAGE,
        data=b"\0" * 1024,
        disk_format="raw",
        container_format="bare",
        visibility="public",
        wait=True,
        allow_duplicates=True,
        use_import=False,
        properties={"os_distro": "cirros"},
    )
    admin.block_storage.create_type(name=VOLUME_TYPE, is_public=True)
    _make_zones(admin)


def _make_zones(admin: Connection) -> None:
    def all_there() -> bool | None:
        return set(COMPUTES) <= {host.name for host in admin.compute.hypervisors()} or None

    if wait_for(all_there, seconds=60.0) is None:
        raise InstallFailed("the hosts of Nova did not appear within 60 s")
    for number, host in enumerate(COMPUTES, 1):
        zone = f"az{number}"
        aggregate = admin.compute.create_aggregate(name=zone, availability_zone=zone)
        admin.compute.add_host_to_aggregate(aggregate, host)
