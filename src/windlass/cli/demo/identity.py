"""Who Windlass is on the demo's cluster: the ServiceAccount that it ships with, and no more rights than that has."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from windlass.machine_sync import rbac
from windlass.machine_sync.rbac import DEFAULT_SERVICE_ACCOUNT
from windlass.testing import ControlPlane

_TOKEN_SECONDS: Final = 7 * 86_400
"""A week: with `--keep` nobody renews the token."""


class Identity(Struct, frozen=True):
    """A kubeconfig file with a token of the ServiceAccount, and the namespace that this lives in."""

    kubeconfig: Path
    namespace: str


async def install_identity(plane: ControlPlane) -> Identity:
    """Apply Namespace, ServiceAccount and RBAC as they are shipped, and ask for a token (TokenRequest)."""
    account = DEFAULT_SERVICE_ACCOUNT
    await plane.apply(*rbac.documents(service_account=account))
    kubeconfig = await plane.service_account_kubeconfig(account.namespace, account.name, seconds=_TOKEN_SECONDS)
    return Identity(kubeconfig, account.namespace)
