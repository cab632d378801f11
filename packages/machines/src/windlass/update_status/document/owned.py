"""The CRD of UpdateStatus: names, and the columns of `kubectl get`."""

from typing import Final

from windlass.api.update import UpdateStatus
from windlass.kube.crd import AGE, Column, Owned

UPDATE_STATUS: Final = Owned(
    kind=UpdateStatus,
    short_names=("upgradestatus",),
    columns=(
        Column("Updating", ".status.overview.updating", type="boolean", description="Control plane or workers update"),
        Column("Assessment", ".status.overview.assessment", description="Of the control plane"),
        Column("Target", ".status.overview.target", description="What is updated to what"),
        Column("Operators", ".status.overview.operators", description="Operators that are updated"),
        Column("Workers", ".status.overview.workers", description="Worker nodes that are updated"),
        Column("Health", ".status.overview.health", description="What needs attention"),
        Column(
            "Trusted",
            '.status.conditions[?(@.type=="Available")].status',
            description="Whether the status can be relied on",
            priority=1,
        ),
        AGE,
    ),
)
