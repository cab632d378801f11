"""The CRD of UpdateInformer, and what `kubectl get updateinformers` shows."""

from typing import Final

from windlass.api.update_informer import UpdateInformer
from windlass.kube.crd import AGE, Column, Owned

UPDATE_INFORMER: Final = Owned(
    kind=UpdateInformer,
    columns=(
        Column("Enabled", ".spec.enabled", type="boolean"),
        Column("Online", '.status.conditions[?(@.type=="Online")].status', description="Whether it answers"),
        Column("Reason", '.status.conditions[?(@.type=="Online")].reason'),
        Column("Namespace", ".spec.clientConfig.service.namespace", description="Of the Service that is asked"),
        Column("Insights", ".status.insights", type="integer", description="Taken from its last answer"),
        Column("Answered", ".status.lastAnswered", type="date", priority=1),
        AGE,
    ),
)
