"""The environment of a build: how it reaches registries and repositories, whom it trusts, and what is lent to it.

| what | from | goes to |
|---|---|---|
| mirrors, policy, signatures, CAs by host | files of the rendered MachineConfig (`inputs.containers`) | the builder |
| CAs of registries by host | ControllerConfig `imageRegistryBundleData`, `imageRegistryBundleUserData` | the builder |
| trust bundle | ControllerConfig `additionalTrustBundle`; else an option | the builder, the image, this process |
| CAs of registries | an option | the builder, this process |
| proxy | ControllerConfig `proxy`; else options | the builder, its RUN steps, this process |
| entitlement, repositories, keys of packages | Secrets and ConfigMaps by the operator's names (`LOANS`) | RUN steps |

Only the trust bundle gets into an image, so it alone is a part of a build's identity. A loan is mounted while a step
runs, and is in no layer.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct

from windlass.api.machineconfiguration import ControllerConfig, ImageRegistryBundle, Proxy

CONTROLLER_CONFIG: Final = "machine-config-controller"
"""The name of the one ControllerConfig."""
BUNDLE: Final = "openshift-config-user-ca-bundle.crt"
"""The file of the trust bundle, in a context and among the anchors of an image: the operator's name."""
_USER: Final = re.compile(r"^(\w+://)?[^/]*@")
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")


class Egress(Struct, frozen=True, kw_only=True):
    """How the world outside is reached, and whom to trust there.

    trust_bundle  certificates in PEM for everything, which images get too
    authorities   certificates in PEM of registries, which images do not get
    registries    certificates in PEM by the host of the registry that they are for
    """

    proxy: Proxy = Proxy()
    trust_bundle: str = ""
    authorities: str = ""
    registries: tuple[tuple[str, str], ...] = ()

    @property
    def shown_proxy(self) -> str:
        """The proxy of requests over TLS for people, without its password; empty without one."""
        return _USER.sub(lambda found: f"{found[1] or ''}***@", self.proxy.https_proxy)

    @property
    def bundled(self) -> int:
        """The number of certificates in the trust bundle."""
        return len(_CERTIFICATE.findall(self.trust_bundle))

    @property
    def trusted(self) -> str:
        """All certificates that are trusted for any host, in PEM."""
        return "".join(f"{pem.strip()}\n" for pem in (self.trust_bundle, self.authorities) if pem.strip())


VOLUMES: Final[Mapping[str, str]] = {
    "/etc/pki/entitlement": "entitlement",
    "/etc/yum.repos.d": "repositories",
    "/etc/pki/rpm-gpg": "package-keys",
}
"""The names of the volumes with what is lent, by the path in RUN steps."""


class Loan(Struct, frozen=True):
    """Files that are lent to RUN steps, at the path `at`: the first of `names` that exists, in the order given."""

    at: str
    kind: Literal["Secret", "ConfigMap"]
    names: tuple[str, ...]


def loans_of(pool: str) -> tuple[Loan, ...]:
    """What the pool's builds may borrow, by the operator's names."""
    return (
        Loan("/etc/pki/entitlement", "Secret", (f"etc-pki-entitlement-{pool}", "etc-pki-entitlement")),
        Loan("/etc/yum.repos.d", "ConfigMap", ("etc-yum-repos-d",)),
        Loan("/etc/pki/rpm-gpg", "Secret", ("etc-pki-rpm-gpg",)),
    )


class Lent(Struct, frozen=True):
    """A loan that exists: the object of this `kind` and `name`."""

    at: str
    kind: Literal["Secret", "ConfigMap"]
    name: str


class Files(Struct, frozen=True):
    """Files of a loan by name. They may be secret: only their names are shown."""

    content: Mapping[str, bytes] = {}

    def __repr__(self) -> str:
        return f"Files({', '.join(self.content)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("content", [*self.content])]


def lent(pool: str, exists: Callable[[str, str], bool]) -> tuple[Lent, ...]:
    """The loans that exist; `exists` tells by kind and name."""
    found = []
    for loan in loans_of(pool):
        for name in loan.names:
            if exists(loan.kind, name):
                found.append(Lent(loan.at, loan.kind, name))
                break
    return tuple(found)


class Environment(Struct, frozen=True, kw_only=True):
    """The environment of one build.

    containers  the files below /etc/containers that its nodes have, by their relative path
    lent        what its RUN steps borrow
    """

    egress: Egress = Egress()
    containers: Mapping[str, bytes] = {}
    lent: tuple[Lent, ...] = ()

    @property
    def certificates(self) -> dict[str, bytes]:
        """Certificates of registries by host, as files below `certs.d`; those of the MachineConfig win."""
        given = {f"certs.d/{host}/ca.crt": pem.encode() for host, pem in self.egress.registries}
        return given | {path: data for path, data in self.containers.items() if path.startswith("certs.d/")}


def egress_of(config: ControllerConfig | None, *, options: Egress) -> Egress:
    """What the ControllerConfig says, and the options where it says nothing.

    Raises ValueError that names the field and the remedy.
    """
    if config is None:
        return options
    spec = config.spec
    bundle = ""
    if spec.additional_trust_bundle:
        bundle = _pem(
            spec.additional_trust_bundle,
            "spec.additionalTrustBundle",
            "correct the ConfigMap in openshift-config that spec.trustedCA of Proxy cluster names",
        )
    registries: dict[str, str] = {}
    lists: tuple[tuple[str, Iterable[ImageRegistryBundle]], ...] = (
        ("imageRegistryBundleData", spec.image_registry_bundle_data or ()),
        ("imageRegistryBundleUserData", spec.image_registry_bundle_user_data or ()),
    )
    for field, entries in lists:
        for entry in entries:
            remedy = "correct the ConfigMap in openshift-config that additionalTrustedCA of Image cluster names"
            # A key of a ConfigMap can hold no colon: two dots stand for one.
            registries[entry.file.replace("..", ":")] = _pem(entry.data, f"spec.{field} {entry.file}", remedy)
    proxy = spec.proxy or Proxy()
    return Egress(
        proxy=proxy if any(variables(proxy).values()) else options.proxy,
        trust_bundle=bundle or options.trust_bundle,
        authorities=options.authorities,
        registries=tuple(sorted(registries.items())),
    )


def variables(proxy: Proxy) -> dict[str, str]:
    """The environment variables of a proxy. Programs differ in which spelling they read: curl reads no HTTP_PROXY."""
    named = {"HTTP_PROXY": proxy.http_proxy, "HTTPS_PROXY": proxy.https_proxy, "NO_PROXY": proxy.no_proxy}
    given = {name: value for name, value in named.items() if value}
    return given | {name.lower(): value for name, value in given.items()}


def certificates(text: str) -> str:
    """The certificates in PEM in `text`, without what stands between them. Raises ValueError if there is none."""
    found = _CERTIFICATE.findall(text)
    if not found:
        raise ValueError("it holds no certificate in PEM")
    return "".join(f"{each}\n" for each in found)


def certificates_in(path: Path) -> str:
    """The certificates in PEM of a file, or of the *.crt of a folder. Raises OSError, ValueError."""
    if not path.is_dir():
        return certificates(path.read_text())
    found = sorted(path.glob("*.crt"))
    if not found:
        raise ValueError("the folder has no file *.crt")
    return "".join(certificates(file.read_text()) for file in found)


def _pem(encoded: str, field: str, remedy: str) -> str:
    try:
        return certificates(base64.b64decode(encoded, validate=True).decode())
    except (binascii.Error, UnicodeDecodeError):
        why = "it is not the base64 of text"
    except ValueError as error:
        why = str(error)
    raise ValueError(f"ControllerConfig {CONTROLLER_CONFIG}: {field}: {why}: {remedy}")
