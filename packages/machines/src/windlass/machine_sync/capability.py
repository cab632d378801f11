"""Machine sync as a capability: its texts and options on the command line, and what is made of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import Capability
from windlass.capability.conventions.settings import Settings
from windlass.machine_sync.cli import names, sides
from windlass.machine_sync.constants import CLUSTER_API_NAMESPACE, MACHINE_API_NAMESPACE
from windlass.machine_sync.platform_list import SERVED, named

if TYPE_CHECKING:
    from windlass.capability.installation import Installation
    from windlass.capability.planning import Name
    from windlass.model.schema import Rules

platform_option = click.option(
    "--platform",
    "platforms",
    multiple=True,
    metavar="NAME",
    help=f"Only for the kinds of this platform ({', '.join(SERVED)}); may be repeated. [default: all]",
)


def _options(function: Any) -> Any:
    gate = click.option(
        "--machine-taint-propagation",
        "takes_taints",
        is_flag=True,
        help="Cluster API's manager runs with its feature gate MachineTaintPropagation: mirror taints there too.",
    )
    return sides.namespace_options(gate(function))


def _install(
    *,
    home: str,
    machine_api_namespace: str = MACHINE_API_NAMESPACE,
    cluster_api_namespace: str = CLUSTER_API_NAMESPACE,
    platforms: tuple[str, ...] = (),
    takes_taints: bool = False,
) -> "Installation":
    from windlass.machine_sync.constants import Namespaces
    from windlass.machine_sync.installation import installation

    if odd := sorted(set(platforms) - set(SERVED)):
        raise click.UsageError(f"--platform {', '.join(odd)}: machine-sync serves {named(SERVED)}")
    places = Namespaces(machine_api_namespace, cluster_api_namespace)
    return installation(home=home, namespaces=places, platforms=platforms or SERVED, takes_taints=takes_taints)


def _rules() -> "list[Rules]":
    from windlass.api import mapi
    from windlass.machine_sync.crd_rules import machine_api

    return [machine_api(mapi.Machine), machine_api(mapi.MachineSet)]


def _names(words: Sequence[str]) -> "list[Name]":
    from windlass.capability.planning import Name
    from windlass.machine_sync.cli.selection import parse

    return [Name(one.name, one.kind.name if one.kind else "") for one in parse(words).wanted]


def _check(
    settings: Settings,
    *,
    machine_api_namespace: str = MACHINE_API_NAMESPACE,
    cluster_api_namespace: str = CLUSTER_API_NAMESPACE,
    takes_taints: bool = False,
) -> None:
    sides.namespaces(settings, machine_api_namespace, cluster_api_namespace)


CAPABILITY = Capability(
    install=_install,
    options=_options,
    view_options=sides.namespace_options,
    manifest_options=platform_option,
    run="""Keep Machines and MachineSets of the Machine API and of Cluster API in sync, both ways, and move authority
    from one API to the other, while the feature gate MachineAPIMigration is enabled.""",
    plan="""Show what Machine sync would do about each Machine and MachineSet: every write with its reason and the
    fields that it changes, and the next step.

    NAME is a name, machine/NAME or machineset/NAME. Nothing is written.

    The controllers' own rules make the plans. Files must include the Infrastructure `cluster` and the objects that the
    machines refer to.

    Exit code 3 means that there is something to do, 0 that there is not.
    """,
    elected="Work only while holding the Lease of OpenShift's migration operator, so that several replicas may run, "
    "and never beside that operator.",
    workers="Machines that are reconciled at the same time.",
    rules=_rules,
    names=_names,
    completes=names.machines_and_sets,
    check=_check,
    deployed={
        "machine-sync/base/rbac.yaml": ("rbac", "machine-sync"),
        "machine-sync/components/policies/policies.yaml": ("policies", "machine-sync"),
        "web/components/machines/rbac.yaml": ("web", "--view", "machine-sync"),
    },
    demo="windlass.machine_sync.demo",
    view="windlass.machine_sync.view.machines",
)
