"""Names builds by what their image stands for. Pure.

The name of a build is a hash of its inputs: the rendered MachineConfig (its name is a hash of its content), the user's
Containerfile, the repository, how the configuration is applied, the trust bundle if there is one, and the request for
a rebuild. So a build is found by
its name after a restart, other inputs are another build, and equal ones are never built twice.

The contents of Secrets do not count: they rotate, and the image stays the same. Mirrors, proxies and what is lent to a
build do not count either: the image is the same with them. Architectures do not count: an image for more of them than
are asked for serves as well, and the registry tells which it is for.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Struct

from windlass.os_build.request import Request

RENDERER: Final = "1"
"""Changes when images that exist have to be built again. That their Containerfile had another text is no reason."""
_DIGITS: Final = 32
_POOL_CHARACTERS: Final = 20
_LONGEST: Final = 63
"""A Job's name becomes a label of its Pods."""


class Inputs(Struct, frozen=True):
    """The identity of a build: `image` is what the image stands for, `rebuild` the request to build that again."""

    image: str
    rebuild: str = ""

    def __str__(self) -> str:
        return f"{self.image}.{self.rebuild}" if self.rebuild else self.image

    def satisfied_by(self, recorded: str) -> bool:
        """The image with this record is what is asked for. A request that was withdrawn asks for nothing."""
        return recorded == str(self) or (not self.rebuild and recorded.partition(".")[0] == self.image)


def inputs_of(request: Request, *, applied_by: str) -> Inputs:
    """The identity; `applied_by` is how the configuration is applied (`inputs.ApplyBy`)."""
    parts = [RENDERER, applied_by, request.config, request.containerfile, str(request.target)]
    if request.egress.trust_bundle:
        parts.append(request.egress.trust_bundle)
    return Inputs(_hash(parts)[:_DIGITS], rebuild_of(request.rebuild))


def rebuild_of(asked: str) -> str:
    """The part of an identity that stands for this value of the annotation `rebuild`; empty without one."""
    return _hash([asked])[:8] if asked else ""


def build_name(pool: str, inputs: Inputs, attempt: int = 1, *, architecture: str = "") -> str:
    """The name of the builder object of an attempt, and the tag of its image: at most 63 characters.

    `architecture`: of one of the images that a list names.
    """
    end = f"-{architecture}" if architecture else ""
    return f"build-{_short(pool, end)}{end}-{_unique(pool, inputs)}" + (f"-{attempt}" if attempt > 1 else "")


def is_named_by(name: str, pool: str, inputs: Inputs) -> bool:
    """A builder object of this name builds these inputs; attempt and architecture do not count."""
    return name.startswith("build-") and f"-{_unique(pool, inputs)}" in name


def list_tag(tag: str, architectures: Iterable[str]) -> str:
    """The tag of the list of a build whose image has `tag`: an image that was there before keeps its own."""
    return "-".join((tag, *architectures))


def _unique(pool: str, inputs: Inputs) -> str:
    return _hash([pool, str(inputs)])[:_DIGITS]


def build_tags(pool: str, *, config: str = "", architectures: Iterable[str] = ()) -> re.Pattern[str]:
    """The tags that builds of a pool give: names of attempts, of each architecture, and of lists; with `config`, of the
    MachineOSBuilds of that MachineOSConfig, too."""
    ends = ["", *(f"-{each}" for each in architectures)]
    names = [f"build-{_short(pool, end)}{end}" for end in ends] + ([config] if config else [])
    listed = "|".join(map(re.escape, ends))
    return re.compile(rf"(?:{'|'.join(map(re.escape, names))})-[a-f0-9]{{{_DIGITS}}}(?:-\d+)?(?:{listed})*")


def _short(pool: str, end: str) -> str:
    return pool[: _POOL_CHARACTERS - len(end)].rstrip("-.").replace(".", "-")


def _hash(parts: list[str]) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()
