"""Decides which images of a pool go. Pure; for each image the first row that fits wins:

| the image | its verdict |
|---|---|
| is of another repository than the one that the pool pushes to now | stays |
| has a digest that an object of the cluster names | stays |
| is the newest of a rendered MachineConfig that a Node or a pool names | stays |
| is among the newest `keep` of the others | stays |
| is not in the registry | is forgotten |
| cannot be looked at | stays, and is looked at again |
| has no label that names this cluster and this pool | stays |
| has a tag that is not a name of builds of this pool | stays |
| is in a list of images that stays | stays |
| else | goes |

The labels decide whose an image is (`inputs.labels`): they are a part of its digest, and no other cluster's image has
them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from windlass.os_build.identity import build_tags
from windlass.os_build.inputs.labels import BASE_LABEL, CLUSTER_LABEL, CONFIG_LABEL, cluster_mark
from windlass.os_build.retention.record import Record, by_digest
from windlass.os_build.retention.use import Use

ATTACHED: Final = re.compile(r"sha256-([a-f0-9]{64})(\.\w+)?")
"""Tags of what is attached to an image: signatures, lists of contents."""
_ARCHITECTURES: Final = ("amd64", "arm64", "ppc64le", "s390x")


class Fate(StrEnum):
    STAYS = "stays"
    UNKNOWN = "unknown"
    """It stays, because the registry does not tell."""
    GONE = "gone"
    """The registry does not have it: only its records are removed."""
    GOES = "goes"


class Verdict(Struct, frozen=True):
    """What becomes of an image, and why. `records`: all that name it, newest first."""

    records: tuple[Record, ...]
    fate: Fate
    why: str

    @property
    def image(self) -> str:
        return self.records[0].image

    @property
    def digest(self) -> str:
        return self.records[0].digest


class Held(Struct, frozen=True):
    """An image as the registry has it. `labels`: of a list of images, the labels that all images have."""

    labels: Mapping[str, str]


class Missing(Struct, frozen=True):
    """The registry does not have it."""


class Untold(Struct, frozen=True):
    """The registry does not tell; `why`, with the remedy."""

    why: str


class Contents(Struct, frozen=True):
    """What a repository holds.

    images  the images that were asked for, by digest
    tags    the digest of each tag; empty if none of the images may go anyway
    lists   the digests of images in each list, by the digest of the list
    """

    images: Mapping[str, Held | Missing | Untold] = {}
    tags: Mapping[str, str] = {}
    lists: Mapping[str, tuple[str, ...]] = {}


class Pool(Struct, frozen=True, kw_only=True):
    """The pool of the images. `config`: the MachineOSConfig, after which builds are named; empty without one."""

    name: str
    repository: str
    cluster: str
    keep: int
    config: str = ""

    @property
    def tag(self) -> re.Pattern[str]:
        """Names of builds, which are the tags of images that builders pushed."""
        return build_tags(self.name, config=self.config, architectures=_ARCHITECTURES)


def in_question(records: Iterable[Record], pool: Pool, use: Use) -> tuple[tuple[Verdict, ...], tuple[Verdict, ...]]:
    """The images that stay whatever the registry says, and the rest, newest first, of which nobody knows yet."""
    stay: list[Verdict] = []
    rest: list[Verdict] = []
    records = sorted(records, key=lambda each: each.built, reverse=True)
    latest = {each.config: each for each in reversed(records) if each.config in use.configs}
    for digest, of_image in by_digest(records).items():
        first = of_image[0]
        config = next((each.config for each in of_image if each in latest.values()), "")
        if any(each.repository != pool.repository for each in of_image):
            stay.append(_stays(of_image, f"it is not in {pool.repository}, where pool {pool.name} pushes to"))
        elif digest in use.digests:
            stay.append(_stays(of_image, f"{use.digests[digest]} names it"))
        elif config:
            stay.append(_stays(of_image, f"{use.configs[config]} names {config}, of which it is the newest image"))
        else:
            rest.append(Verdict(of_image, Fate.UNKNOWN, f"{first.image} has not been looked at"))
    newest = [_stays(each.records, f"it is among the newest {pool.keep}") for each in rest[: pool.keep]]
    return (*stay, *newest), tuple(rest[pool.keep :])


def judged(verdicts: Sequence[Verdict], pool: Pool, contents: Contents, use: Use) -> tuple[Verdict, ...]:
    """The last word on images that are in question."""
    found = {each.digest: _of_registry(each, pool, contents) for each in verdicts}
    # A list that goes keeps nothing, so lists first: an image may be in several.
    while True:
        going = {digest for digest, verdict in found.items() if verdict.fate is Fate.GOES}
        kept = {
            child: parent
            for parent, children in contents.lists.items()
            if parent not in going
            for child in children
            if child in going
        }
        if not kept:
            return tuple(found.values())
        for child, parent in kept.items():
            named = next((tag for tag, digest in contents.tags.items() if digest == parent), parent)
            found[child] = _stays(found[child].records, f"the list of images {named} has it")


def owned(labels: Mapping[str, str], pool: Pool) -> bool:
    """An image with these labels was built by this cluster, for this pool."""
    config, base = labels.get(CONFIG_LABEL, ""), labels.get(BASE_LABEL, "")
    expected = cluster_mark(pool.cluster, pool=pool.name, config=config, base=base)
    return bool(pool.cluster) and labels.get(CLUSTER_LABEL) == expected


def listed(contents: Contents, digest: str, pool: Pool, use: Use) -> tuple[str, ...]:
    """The digests of images that only this list has, which is of no use without it, as builds of the pool pushed them.

    The labels of a list are those of all its images, so all are of this cluster.
    """
    found = []
    for child in contents.lists.get(digest, ()):
        elsewhere = any(child in children for parent, children in contents.lists.items() if parent != digest)
        tags = [tag for tag, each in contents.tags.items() if each == child]
        if not elsewhere and child not in use.digests and all(map(pool.tag.fullmatch, tags)):
            found.append(child)
    return tuple(found)


def attached(contents: Contents, digest: str) -> tuple[str, ...]:
    """The digests of what is attached to an image, which is of no use without it: by tags, and in a list of that."""
    wanted, tagged = digest.replace(":", "-"), {*contents.tags.values()}
    found = [each for tag, each in contents.tags.items() if ATTACHED.fullmatch(tag) and tag.startswith(wanted)]
    inner = [child for each in found for child in contents.lists.get(each, ()) if child not in tagged]
    return tuple(dict.fromkeys((*found, *inner)))


def _of_registry(verdict: Verdict, pool: Pool, contents: Contents) -> Verdict:
    match contents.images.get(verdict.digest, Untold("it was not asked for")):
        case Missing():
            return Verdict(verdict.records, Fate.GONE, "the registry does not have it")
        case Untold(why):
            return Verdict(verdict.records, Fate.UNKNOWN, why)
        case Held(labels) if not owned(labels, pool):
            return _stays(verdict.records, f"its labels do not say that this cluster built it for pool {pool.name}")
    foreign = [tag for tag, digest in contents.tags.items() if digest == verdict.digest and not pool.tag.fullmatch(tag)]
    if foreign:
        return _stays(verdict.records, f"it has the tag {min(foreign)}, which no build gave to it")
    return Verdict(verdict.records, Fate.GOES, "nothing uses it")


def _stays(records: tuple[Record, ...], why: str) -> Verdict:
    return Verdict(records, Fate.STAYS, why)
