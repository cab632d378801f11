"""Reads Secrets with credentials of registries, in the forms that the Machine Config Operator reads. Pure."""

from msgspec import Struct

from windlass.api.core import Secret
from windlass.os_build.request import Problem


class Login(Struct, frozen=True):
    """Credentials for one registry."""

    username: str
    password: str


class Auths(Struct, frozen=True):
    """Credentials by registry. `document` is `{"auths": ...}`, as builders read it from a file."""

    by_host: dict[str, Login]
    document: bytes

    def login(self, host: str, path: str = "") -> Login | None:
        """The credentials for a repository: the most specific entry wins, as in containers/image."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Auths({', '.join(self.by_host)})"


class Secrets(Struct, frozen=True):
    """The Secrets of a build as they were read. `versions` tells one state of them from another."""

    pull: Auths
    push: Auths
    versions: str


def auths(secret: Secret, *, key: str) -> Auths | Problem:
    """The credentials in a Secret; `key` is the key of the ConfigMap that names it, for messages."""
    raise NotImplementedError
