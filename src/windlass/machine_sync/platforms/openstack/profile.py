"""Converts binding profiles of ports: a map of strings in the Machine API, two switches in Cluster API."""

from typing import Final

from windlass.api import capo
from windlass.machine_sync.conversion.field_errors import Findings

CAPABILITIES: Final = "capabilities"
TRUSTED: Final = "trusted"

_OFFLOAD: Final = "switchdev"


def binding_profile(path: str, profile: dict[str, str], found: Findings) -> capo.BindingProfile:
    """The switches of `profile`. Values that are neither on nor off are losses; the caller handles other keys."""
    capabilities = profile.get(CAPABILITIES)
    trusted = profile.get(TRUSTED)
    if capabilities not in (None, "", _OFFLOAD, f'["{_OFFLOAD}"]'):
        found.lose(f"{path}.{CAPABILITIES}", capabilities)
    if trusted not in (None, "true", "false"):
        found.lose(f"{path}.{TRUSTED}", trusted)
    return capo.BindingProfile(
        ovs_hw_offload=None if capabilities is None else _OFFLOAD in capabilities,
        trusted_vf=None if trusted is None else trusted == "true",
    )
