"""Asks the service of alerts, thanos-querier, as the user: with the bearer token that the API server gets."""

from msgspec import structs

from windlass.kube.client.retry import RetryPolicy
from windlass.kube.client.transport import Transport
from windlass.kube.config import ClusterConfig, Credential, FixedCredential, Impersonation
from windlass.kube.errors import Failure
from windlass.kube.version import VERSION

USER_AGENT = f"windlass/{VERSION} (upgrade-status)"
"""The end is that of `oc`, by which servers count the use of this command."""
PATIENCE = 10.0
"""Seconds for an answer at most: the report does not depend on it."""


class NoToken(Failure):
    """The user has no bearer token, only a certificate for instance."""


class AlertsService:
    """The service, of the cluster that `config` is for. Its certificate is signed by an authority of the system or of
    the kubeconfig. `timeout`: seconds for a request."""

    def __init__(self, config: ClusterConfig, *, timeout: float) -> None:
        self._config = config
        self._timeout = min(timeout, PATIENCE)

    async def alerts(self, host: str) -> bytes:
        """The answer to `/api/v1/alerts`. Raises Failure."""
        credential = await self._config.credentials.current()
        if not credential.authorization.startswith("Bearer "):
            raise NoToken("no token is currently in use for this session")
        tls = structs.replace(
            self._config.tls,
            authority=credential.authority or self._config.tls.authority,
            server_name=None,
            also_system=True,
        )
        config = structs.replace(
            self._config,
            server=f"https://{host}",
            tls=tls,
            credentials=FixedCredential(Credential(authorization=credential.authorization)),
            impersonate=Impersonation(),
        )
        once = RetryPolicy(attempts=1)
        async with Transport(config, timeout=self._timeout, retry=once, user_agent=USER_AGENT) as transport:
            return await transport.exchange("GET", "/api/v1/alerts")
