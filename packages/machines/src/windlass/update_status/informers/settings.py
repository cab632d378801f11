"""How informers are asked, as the command line says."""

from pathlib import Path

from msgspec import Struct

from windlass.update_status.informers.fetching import SERVICE_CA, Resolve


class InformersSettings(Struct, frozen=True, kw_only=True):
    """`namespaces`: patterns of those whose Services are asked; none: all. `service_ca`: for informers without a
    caBundle. `forbidden`: addresses that are never asked, such as the API server's. `resolve`: finds Services
    elsewhere than at their address; for tests."""

    namespaces: tuple[str, ...] = ()
    service_ca: Path = SERVICE_CA
    forbidden: tuple[str, ...] = ()
    resolve: Resolve | None = None
