"""Credentials for one cloud: an entry of clouds.yaml, a region and a CA. Nothing is taken from the environment."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct


class Credentials(Struct, frozen=True):
    """`cloud` is the entry of clouds.yaml, `cacert` the PEM text of the CA that signed the cloud's certificates (empty:
    those that the host trusts). `region` overrides that of the entry. `where` says where they come from, for people."""

    cloud: Mapping[str, Any]
    name: str
    region: str = ""
    cacert: str = ""
    where: str = ""

    @property
    def key(self) -> str:
        """A digest of all that decides which cloud, project and user this is."""
        parts = [dict(self.cloud), self.region, self.cacert]
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
