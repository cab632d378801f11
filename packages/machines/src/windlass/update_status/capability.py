"""Update status as a capability: its texts and options on the command line, and what is made of them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.capability import Capability

if TYPE_CHECKING:
    from windlass.capability.installation import Installation
    from windlass.model.schema import Rules


def _options(function: Any) -> Any:
    for option in (
        click.option(
            "--informers-ca",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Certificate authority of informers without a caBundle. [default: the service CA in the pod]",
        ),
        click.option(
            "--informer-namespaces",
            "informer_namespaces",
            multiple=True,
            metavar="PATTERN",
            help="Ask only informers whose Service is in such a namespace, such as openshift-*; may be repeated."
            " [default: all]",
        ),
        click.option(
            "--informers",
            is_flag=True,
            help="Also ask the Services that UpdateInformers name for insights of their own.",
        ),
        click.option(
            "--alerts-ca",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Certificate authority of that server. [default: the service CA in the pod]",
        ),
        click.option(
            "--alerts-token",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Token that is sent there; read again for each request. [default: that of the pod's ServiceAccount]",
        ),
        click.option(
            "--alerts-url",
            default="",
            metavar="URL",
            help="Prometheus or thanos-querier, whose alerts become insights. [default: none]",
        ),
    ):
        function = option(function)
    return function


def _install(
    *,
    home: str,
    alerts_url: str = "",
    alerts_ca: Path | None = None,
    alerts_token: Path | None = None,
    informers: bool = False,
    informer_namespaces: tuple[str, ...] = (),
    informers_ca: Path | None = None,
) -> "Installation":
    from windlass.update_status.controller.alerts import AlertsSettings
    from windlass.update_status.installation import installation

    usual = AlertsSettings()
    settings = AlertsSettings(
        url=alerts_url.rstrip("/"), authority=alerts_ca or usual.authority, token=alerts_token or usual.token
    )
    if not informers:
        if informer_namespaces or informers_ca:
            raise click.UsageError(
                "--informer-namespaces and --informers-ca say how informers are asked: add --informers"
            )
        return installation(home=home, alerts=settings)
    from windlass.update_status.informers.fetching import SERVICE_CA
    from windlass.update_status.informers.settings import InformersSettings

    # The API server's own Service: no informer is there.
    forbidden = tuple(filter(None, [os.environ.get("KUBERNETES_SERVICE_HOST", "")]))
    asked = InformersSettings(
        namespaces=informer_namespaces, service_ca=informers_ca or SERVICE_CA, forbidden=forbidden
    )
    return installation(home=home, alerts=settings, informers=asked)


def _rules() -> "list[Rules]":
    from windlass.model.schema import rules_of_crd
    from windlass.update_status.installation import OWNED

    return [rules_of_crd(owned.kind, owned.manifest()) for owned in OWNED]


CAPABILITY = Capability(
    install=_install,
    home="windlass-update-status",
    options=_options,
    run="""Keep the UpdateStatus `cluster` up to date: how the update of the cluster is going, by what ClusterVersion,
    ClusterOperators, MachineConfigPools and Nodes say.""",
    plan="""Show what Update status would write: the UpdateStatus `cluster`, the records of updates, Events.

    NAME is `cluster`. Nothing is written.

    Exit code 3 means that there is something to write, 0 that there is not.
    """,
    rules=_rules,
    workers="Has no effect: there is one object to keep up to date, and each informer has a worker.",
    deployed={
        "update-status/base/rbac.yaml": ("rbac", "update-status"),
        "update-status/components/informers/rbac.yaml": ("rbac", "update-status", "--informers"),
        "update-status/crds/crds.yaml": ("crds", "update-status"),
        "web/base/rbac.yaml": ("web",),
    },
    demo="windlass.update_status.demo",
    view="windlass.update_status.view.update",
    shows_files=True,
)
