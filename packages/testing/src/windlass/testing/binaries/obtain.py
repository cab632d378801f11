"""Gets the parts of the control plane from the user's folder, our cache, an archive or a build, in this order."""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass.testing.binaries import archives, capacity, versions
from windlass.testing.binaries.cache import Cache
from windlass.testing.binaries.compile import Compiler
from windlass.testing.binaries.errors import UnusableAssets
from windlass.testing.binaries.parts import CORE_PARTS, Part, Platform
from windlass.testing.binaries.progress import Clock, Report, to_stderr
from windlass.testing.binaries.toolchain import find_go

ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"
"""The variable that envtest reads, so that one download serves Go and Python projects."""

KEEP_BUILD_CACHE_VARIABLE = "WINDLASS_KEEP_GO_CACHE"
"""Set to anything, it keeps Go's build cache (4 GB) after a build. Useful if you change pins often."""

_REQUIRED_OF_ASSETS = ("etcd", "kube-apiserver")


@dataclass(frozen=True)
class Assets:
    """Programs by name, and folders of CRD files by the name of the part that they come from."""

    programs: Mapping[str, Path] = field(default_factory=dict)
    crds: Mapping[str, Path] = field(default_factory=dict)

    def program(self, name: str) -> Path:
        """The path of a program; UnusableAssets if it was not asked for or is not there."""
        try:
            return self.programs[name]
        except KeyError:
            known = ", ".join(sorted(self.programs)) or "nothing"
            raise UnusableAssets(f"there is no program {name} among the assets, which hold {known}") from None


def obtain(
    parts: Sequence[Part] = CORE_PARTS,
    *,
    assets: str | os.PathLike[str] | None = None,
    kubernetes: str | None = None,
    unneeded: Collection[str] = (),
    cache: Cache | None = None,
    report: Report = to_stderr,
) -> Assets:
    """The programs and CRDs of `parts`, built now if no source has them.

    `assets` is a folder that holds at least etcd and kube-apiserver; the default is KUBEBUILDER_ASSETS. Parts that it
    lacks come from the cache; nothing is built for those in `unneeded`. The first build takes about six minutes on two
    cores; it is reported line by line, and a second process waits for the first instead of building too.

    `kubernetes` is the version that the API server must be of, for example `1.35`; see `versions`.

    Raises a BinariesError that names the remedy.
    """
    cache = cache or Cache()
    given = _given(assets)
    if kubernetes is not None:
        versions.check(kubernetes, given, controller_manager="kube-controller-manager" not in unneeded)
    folders: dict[str, Path] = {}
    wanting = [part for part in parts if not _satisfied(part, {*given, *unneeded})]
    missing = []
    for part in wanting:
        folder = cache.find(part, Platform.here())
        if folder is None:
            missing.append(part)
        else:
            folders[part.name] = folder
    if missing:
        folders |= fill(missing, target=Platform.here(), cache=cache, report=report)
    programs = {
        program.name: folders[part.name] / program.name for part in wanting for program in part.programs
    } | given  # fmt: skip
    crds = {part.name: folders[part.name] / "crds" for part in wanting if part.crds}
    return Assets(programs, crds)


def fill(parts: Sequence[Part], *, target: Platform, cache: Cache, report: Report = to_stderr) -> dict[str, Path]:
    """Bring `parts` for `target` into the cache, unless another process just did; their folders by part name."""
    with cache.filling(report):
        missing = [part for part in parts if cache.find(part, target) is None]
        missing = [part for part in missing if not _from_archive(part, target, cache=cache, report=report)]
        if missing:
            _build(missing, target=target, cache=cache, report=report)
    found = {part.name: cache.find(part, target) for part in parts}
    return {name: folder for name, folder in found.items() if folder is not None}


def _from_archive(part: Part, target: Platform, *, cache: Cache, report: Report) -> bool:
    if not archives.offers(part, target):
        return False
    try:
        with cache.incoming(part, target) as staging:
            archives.load(part, target, staging)
    except archives.Unusable as problem:
        report(f"{problem}; building instead")
        return False
    report(f"{part.name} {part.version}: loaded")
    return True


def _build(parts: Sequence[Part], *, target: Platform, cache: Cache, report: Report) -> None:
    clock = Clock()
    named = ", ".join(f"{part.name} {part.version}" for part in parts)
    if any(part.programs for part in parts):
        capacity.check(cache.root)
        report(f"building {named} for {target} into {cache.root}; once, about 6 minutes for everything on two cores")
    else:
        report(f"loading {named} into {cache.root}; once")
    build_cache = cache.root / ".go-build"
    go = find_go(cache.root / ".tools", report=report)
    compiler = Compiler(go, target, build_cache=build_cache, report=report)
    for part in parts:
        with cache.incoming(part, target) as staging:
            compiler.build(part, staging)
    if not os.environ.get(KEEP_BUILD_CACHE_VARIABLE):
        shutil.rmtree(build_cache, ignore_errors=True)
    report(f"everything is there ({clock})")


def _given(assets: str | os.PathLike[str] | None) -> dict[str, Path]:
    """The programs in the folder that the user named; {} if none was named."""
    named = assets or os.environ.get(ASSETS_VARIABLE)
    if not named:
        return {}
    folder = Path(named).expanduser().absolute()
    if not folder.is_dir():
        raise UnusableAssets(f"{_origin(assets)} {folder} is not a folder: name one that holds etcd and kube-apiserver")
    programs = {entry.name: entry for entry in folder.iterdir() if entry.is_file() and os.access(entry, os.X_OK)}
    if absent := [name for name in _REQUIRED_OF_ASSETS if name not in programs]:
        raise UnusableAssets(
            f"{_origin(assets)} {folder} holds no executable {' and no '.join(absent)}: put it there, "
            "or leave the setting out to have everything built"
        )
    return programs


def _origin(assets: str | os.PathLike[str] | None) -> str:
    return "the assets folder" if assets else ASSETS_VARIABLE


def _satisfied(part: Part, given: Collection[str]) -> bool:
    return not part.crds and bool(part.programs) and all(program.name in given for program in part.programs)
