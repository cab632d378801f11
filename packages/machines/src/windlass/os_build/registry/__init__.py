"""Asks registries of container images: may these credentials push there, is an image there, for which architectures.

    async with Registry() as registry:
        answer = await registry.may_push(target, login, origin="Secret mco/push")
        found = await registry.manifest(target, "sha256:...", login, origin="Secret mco/push")

| module | what it holds |
|---|---|
| `registry` | the questions, and their deadline |
| `answers` | what an answer of a registry means, and how it reads |
| `repository` | what one repository holds: read, written, removed |
| `access` | requests as the user of a Secret, and the memory of what was done to images |
| `conversation` | challenges, tokens and redirects of one question |
| `images`, `index` | for which architectures an image is; one list for the images of several |
| `wire` | one HTTP request: TLS, plain HTTP, bounded bodies |
| `carrier` | system "registry" of plans: probes, and the memory of their answers |

A registry that cannot be asked has said nothing: a cluster's builders have mirrors and certificates that are not here.
Sources: the OCI distribution specification, docker's token authentication.
"""

from windlass.os_build.registry.answers import Answer, Denied, Found, Gone, Kind, NotAsked
from windlass.os_build.registry.carrier import SYSTEM, ProbeUpload, RegistryCarrier
from windlass.os_build.registry.registry import Registry

__all__ = [
    "SYSTEM",
    "Answer",
    "Denied",
    "Found",
    "Gone",
    "Kind",
    "NotAsked",
    "ProbeUpload",
    "Registry",
    "RegistryCarrier",
]
