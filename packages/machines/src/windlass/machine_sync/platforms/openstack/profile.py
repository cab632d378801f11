"""Reports values of binding profiles that Cluster API cannot express: a map of strings there, two switches here."""

from typing import Final

from windlass.machine_sync.conversion.field_errors import Findings
from windlass.openstack.provider_spec_reading import OFFLOAD

CAPABILITIES: Final = "capabilities"
TRUSTED: Final = "trusted"


def examine_profile(path: str, profile: dict[str, str], found: Findings) -> None:
    """Add a loss for each value that is neither on nor off. The caller handles other keys."""
    capabilities = profile.get(CAPABILITIES)
    trusted = profile.get(TRUSTED)
    if capabilities not in (None, "", OFFLOAD, f'["{OFFLOAD}"]'):
        found.lose(f"{path}.{CAPABILITIES}", capabilities)
    if trusted not in (None, "true", "false"):
        found.lose(f"{path}.{TRUSTED}", trusted)
