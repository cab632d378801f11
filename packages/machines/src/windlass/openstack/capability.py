"""OpenStack as a capability: its texts and options on the command line, and what is made of them."""

from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import Capability
from windlass.capability.conventions.options import Duration, machines_namespace
from windlass.openstack.machine_api.constants import MACHINE_API_NAMESPACE

if TYPE_CHECKING:
    from windlass.capability.installation import Installation

SECONDS = Duration()
machine_api_namespace = machines_namespace("--machine-api-namespace", default=MACHINE_API_NAMESPACE, side="Machine API")


def _options(function: Any) -> Any:
    for option in (
        click.option(
            "--poll-period",
            type=SECONDS,
            default="1m",
            show_default=True,
            help="Time between two lists of a project's servers and ports while nothing is being built.",
        ),
        click.option(
            "--poll-building",
            type=SECONDS,
            default="10s",
            show_default=True,
            help="The longest time between two lists while something is being built.",
        ),
        click.option(
            "--provider-namespace",
            default="capo-system",
            show_default=True,
            metavar="NAME",
            help="Where Cluster API's own OpenStack provider would run: beside it, nothing is done.",
        ),
        click.option(
            "--watch-namespace",
            "watch_namespaces",
            multiple=True,
            metavar="NAME",
            help="Only for objects in this namespace; may be repeated. [default: all]",
        ),
        click.option(
            "--machine-api",
            is_flag=True,
            help="Also serve Machines of OpenShift's Machine API whose authority is MachineAPI, in the place of its"
            " machine controller: those in the namespace of --machine-api-namespace.",
        ),
        machine_api_namespace,
        click.option(
            "--allow-loopback-clouds",
            is_flag=True,
            help="Ask clouds of Secrets at this machine's addresses and at those of metadata services too: for"
            " development alone.",
        ),
    ):
        function = option(function)
    return function


def _plan_options(function: Any) -> Any:
    return click.option(
        "--os-cloud",
        metavar="NAME",
        help="With -f: ask the cloud of this entry of your clouds.yaml, whatever credentials the objects name.",
    )(function)


def _install(
    *,
    home: str,
    watch_namespaces: tuple[str, ...] = (),
    provider_namespace: str = "capo-system",
    poll_building: float = 10.0,
    poll_period: float = 60.0,
    os_cloud: str | None = None,
    machine_api: bool = False,
    machine_api_namespace: str = MACHINE_API_NAMESPACE,
    allow_loopback_clouds: bool = False,
) -> "Installation":
    from windlass.openstack.cloud.clouds import PollTimes
    from windlass.openstack.cloud.credentials import of_user
    from windlass.openstack.installation import installation

    for name, value in (("--poll-building", poll_building), ("--poll-period", poll_period)):
        if value <= 0:
            raise click.UsageError(f"{name}: a period must be longer than 0")
    return installation(
        home=home,
        namespaces=watch_namespaces,
        provider_namespace=provider_namespace,
        polls=PollTimes(after_write=min(1.0, poll_building), building=poll_building, at_rest=poll_period),
        credentials=(lambda: of_user(os_cloud)) if os_cloud else None,
        machine_api=machine_api_namespace if machine_api else "",
        allow_loopback=allow_loopback_clouds,
    )


CAPABILITY = Capability(
    install=_install,
    home="windlass-openstack",
    options=_options,
    plan_options=_plan_options,
    run="""Create and keep servers in OpenStack, with their ports, trunks and volumes, as OpenStackCluster,
    OpenStackMachine and OpenStackServer objects say: an infrastructure provider of Cluster API.

    It does nothing while the Lease of Cluster API's own OpenStack provider is held.""",
    plan="""Show what would be done about each OpenStackCluster, OpenStackMachine and OpenStackServer: every write to
    the API server and every request to the cloud, with its reason and what it changes, and the next step.

    NAME is NAMESPACE/NAME. Nothing is written. The cloud is asked what exists, with the credentials of the objects.

    Exit code 3 means that there is something to do, 0 that there is not.
    """,
    workers="Objects of one kind that are reconciled at the same time.",
    deployed={
        "openstack/base/rbac.yaml": ("rbac", "openstack"),
        "openstack/machine-api/rbac.yaml": (
            "rbac",
            "openstack",
            "--machine-api",
            "--watch-namespace",
            "openshift-cluster-api",
        ),
        "openstack/crds/crds.yaml": ("crds", "openstack"),
        "web/components/openstack/rbac.yaml": ("web", "--view", "openstack"),
        "openstack/components/policies/policies.yaml": ("policies", "openstack"),
    },
    demo="windlass.openstack.demo",
    view="windlass.openstack.view.clouds",
)
