"""`python -m windlass_cloud.databases NAME ETC`: make the empty databases of one project.

The migrations of Neutron and Octavia need a server that can alter tables in place, which SQLite cannot: their schema
comes from the models. Octavia's migrations also fill tables of constants; that is done here.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from . import sqlite  # noqa: F401 - before any project makes an engine


def keystone(etc: Path) -> None:
    """Schema, keys of tokens and credentials, and the administrator, as `keystone-manage bootstrap` makes him."""
    from keystone.cmd.manage import main

    owner = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
    bootstrap = ["bootstrap"]
    for name in ("password", "region-id", "admin-url", "internal-url", "public-url"):
        bootstrap += [f"--bootstrap-{name}", os.environ[f"BOOTSTRAP_{name.replace('-', '_').upper()}"]]
    for arguments in (
        ["db_sync"],
        ["fernet_setup", *owner],
        ["receipt_setup", *owner],
        ["credential_setup", *owner],
        bootstrap,
    ):
        sys.argv = ["keystone-manage", "--config-file", str(etc / "keystone.conf"), *arguments]
        _in_child(main)


def placement(etc: Path) -> None:
    from placement.cmd.manage import main

    sys.argv = ["placement-manage", "--config-file", str(etc / "placement.conf"), "db", "sync"]
    sys.exit(main())


def glance(etc: Path) -> None:
    from glance.cmd.manage import main

    sys.argv = ["glance-manage", "--config-file", str(etc / "glance-api.conf"), "db_sync"]
    main()


def cinder(etc: Path) -> None:
    from cinder.cmd.manage import main

    sys.argv = ["cinder-manage", "--config-file", str(etc / "cinder.conf"), "db", "sync"]
    main()


def neutron(etc: Path) -> None:
    from neutron.common import config
    from neutron.db.migration import cli
    from neutron.db.migration.models import head
    from neutron_lib.db import api

    config.register_common_config_options()
    config.init(["--config-file", str(etc / "neutron.conf")])
    metadata = head.get_metadata()
    with api.CONTEXT_WRITER.get_engine().begin() as connection:
        metadata.create_all(connection)
    sys.argv = ["neutron-db-manage", "--config-file", str(etc / "neutron.conf"), "stamp", "heads"]
    cli.main()


def nova(etc: Path) -> None:
    """Both databases, with cells 0 and 1."""
    from nova.cmd import manage

    folder = etc.parents[1] / "state" / "db"
    cell0, cell1 = (f"sqlite:///{folder}/nova_{cell}.sqlite" for cell in ("cell0", "cell1"))
    for arguments in (
        ["api_db", "sync"],
        ["cell_v2", "map_cell0", "--database_connection", cell0],
        ["db", "sync"],
        # A transport of the kind `none` keeps that of the process; cell 0 has `none:///`, so cell 1 needs another one.
        [
            "cell_v2",
            "create_cell",
            "--name",
            "cell1",
            "--database_connection",
            cell1,
            "--transport-url",
            "none://cell1/",
        ],
    ):
        sys.argv = ["nova-manage", "--config-file", str(etc / "nova.conf"), *arguments]
        _in_child(manage.main)


def octavia(etc: Path) -> None:
    from octavia.common import constants as c
    from octavia.common import service
    from octavia.db import api, base_models
    from octavia.db import models as m

    service.prepare_service(["octavia", "--config-file", str(etc / "octavia.conf")])
    base_models.BASE.metadata.create_all(api.get_engine())
    constants = (
        (m.ProvisioningStatus, c.SUPPORTED_PROVISIONING_STATUSES),
        (m.OperatingStatus, c.SUPPORTED_OPERATING_STATUSES),
        (m.HealthMonitorType, c.SUPPORTED_HEALTH_MONITOR_TYPES),
        (m.Algorithm, c.SUPPORTED_LB_ALGORITHMS),
        (m.Protocol, c.SUPPORTED_PROTOCOLS),
        (m.SessionPersistenceType, c.SUPPORTED_SP_TYPES),
        (m.AmphoraRoles, c.SUPPORTED_AMPHORA_ROLES),
        (m.LBTopology, c.SUPPORTED_LB_TOPOLOGIES),
        (m.VRRPAuthMethod, c.SUPPORTED_VRRP_AUTH),
        (m.L7RuleType, c.SUPPORTED_L7RULE_TYPES),
        (m.L7RuleCompareType, c.SUPPORTED_L7RULE_COMPARE_TYPES),
        (m.L7PolicyAction, c.SUPPORTED_L7POLICY_ACTIONS),
        (m.ClientAuthenticationMode, c.SUPPORTED_CLIENT_AUTH_MODES),
    )
    gone = {"name": "DELETED-PLACEHOLDER"}
    with api.get_session() as session, session.begin():
        session.add_all(model(name=name) for model, names in constants for name in names)
        session.add_all(
            [
                m.FlavorProfile(id=c.NIL_UUID, provider_name=c.DELETED, flavor_data="{}", **gone),
                m.Flavor(id=c.NIL_UUID, flavor_profile_id=c.NIL_UUID, enabled=False, description="", **gone),
                m.AvailabilityZoneProfile(
                    id=c.NIL_UUID, provider_name=c.DELETED, availability_zone_data="{}", **gone
                ),
                m.AvailabilityZone(
                    availability_zone_profile_id=c.NIL_UUID, name=c.NIL_UUID, enabled=False, description=""
                ),
            ]
        )  # fmt: skip


def _in_child(main: Callable[[], object]) -> None:
    """Run a program that can be run once in a process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _code(main)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(f"{' '.join(sys.argv)} failed")


def _code(main: Callable[[], object]) -> int:
    try:
        result = main()
    except SystemExit as end:
        result = end.code
    return result if isinstance(result, int) else int(bool(result))


if __name__ == "__main__":
    globals()[sys.argv[1]](Path(sys.argv[2]))
