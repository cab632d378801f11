"""Reads what a build is made from out of files, where there is no cluster."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click
import msgspec
from msgspec import Struct, field, structs

from windlass.api.core import ConfigMap
from windlass.api.machineconfiguration import (
    ControllerConfig,
    MachineConfig,
    MachineConfigPool,
    OSImageStream,
    PoolConfiguration,
)
from windlass.api.machineosconfig import MachineOSConfig
from windlass.api.meta import NamedReference
from windlass.capability.conventions.exit_codes import Exit
from windlass.capability.documents import Document, Interest, Undecodable, read_inputs
from windlass.kube.foreign import harmless
from windlass.os_build import constants
from windlass.os_build.cli.given import Choices
from windlass.os_build.environment import CONTROLLER_CONFIG, Egress, certificates_in, egress_of
from windlass.os_build.inputs.context import ApplyBy, Context, rendered
from windlass.os_build.inputs.lint import lint_stages, lint_user_part
from windlass.os_build.machine_os import request as machine_os
from windlass.os_build.pullspec import Target
from windlass.os_build.request import PULL_SECRET, PULLSPEC, PUSH_SECRET, RENDERED, Given, Problem, Request, requested
from windlass.os_build.streams import SINGLETON, images_of

T = TypeVar("T")
_NO_TARGET: Final = "localhost/os"
"""Where nothing is pushed."""


class Wrong(click.ClickException):
    """The input cannot be used; the text says what to change."""

    exit_code = Exit.UNREADABLE

    def format_message(self) -> str:
        return harmless(" ".join(self.message.split()))


class _Spec(Struct, rename="camel"):
    machine_config_pool: NamedReference = NamedReference()


class _Claiming(Struct):
    """What MachineOSConfigs of all versions have."""

    spec: _Spec = field(default_factory=_Spec)


class Inputs(Struct, frozen=True):
    """A build that is ready to be made."""

    request: Request
    context: Context


def inputs(choices: Choices, *, push: str | None = None, authorities: Path | None = None) -> Inputs:
    """Read the files. `push` is where to push, empty: where the files say; None: nothing is pushed.

    `authorities`: certificates of registries, as a file or a folder of *.crt. Raises Wrong.
    """
    documents = _read(choices.sources)
    request = _request(choices, documents, push=push)
    request = structs.replace(request, egress=_egress(documents, choices.trust_bundle, authorities))
    machine_config = _find(documents, "MachineConfig", request.config)
    if machine_config is None:
        raise Wrong(
            f"MachineConfig {request.config} is not among the {len(documents)} objects that were read, and "
            f"MachineConfigPool {choices.pool} names it: give its file with -f"
        )
    tree = _decoded(machine_config, dict[str, Any])
    if choices.base:
        tree["spec"] = {**(tree.get("spec") or {}), "osImageURL": choices.base}
    apply_by = ApplyBy(choices.apply_by)
    context = rendered(
        request,
        msgspec.json.encode(tree),
        apply_by=apply_by,
        arch=constants.ARCHITECTURE,
        lint=choices.bootc_lint,
    )
    if isinstance(context, Problem):
        raise Wrong(context.text)
    return Inputs(request, context)


def _read(sources: tuple[str, ...]) -> list[Document]:
    interest = Interest(
        cluster_scoped=(
            MachineConfigPool.RESOURCE,
            MachineConfig.RESOURCE,
            MachineOSConfig.RESOURCE,
            ControllerConfig.RESOURCE,
            OSImageStream.RESOURCE,
        ),
        in_namespaces=((constants.NAMESPACE, ConfigMap.RESOURCE),),
    )
    documents, problems = read_inputs(sources, stdin=sys.stdin.buffer, interest=interest)
    if problems:
        raise Wrong("; ".join(problems))
    return documents


def _request(choices: Choices, documents: Sequence[Document], *, push: str | None) -> Request:
    document = _find(documents, "MachineConfigPool", choices.pool)
    pool = _decoded(document, MachineConfigPool) if document else MachineConfigPool()
    pool = structs.replace(pool, metadata=structs.replace(pool.metadata, name=choices.pool))
    if document is None:
        config = PoolConfiguration(name=_only_rendered(choices, documents))
        pool = structs.replace(pool, spec=structs.replace(pool.spec, configuration=config))
    if claim := _claim(choices.pool, documents):
        # As in a cluster: the ConfigMaps do not count for this pool.
        target = _target(push) if push else None
        request = machine_os.requested(claim, pool, architecture=constants.ARCHITECTURE, target=target)
    else:
        request = requested(pool, _given(documents, push=push))
    if isinstance(request, Problem):
        raise Wrong(request.text)
    streams = _find(documents, "OSImageStream", SINGLETON)
    images = images_of(pool, _decoded(streams, OSImageStream) if streams else None, request.images)
    request = structs.replace(request, images=images)
    if choices.containerfile is not None:
        return structs.replace(request, containerfile=_user_part(choices.containerfile))
    return request


def _claim(pool: str, documents: Sequence[Document]) -> MachineOSConfig | None:
    """The MachineOSConfig of the pool; None without one."""
    kind, version = MachineOSConfig.RESOURCE.kind, MachineOSConfig.RESOURCE.api_version
    found = []
    for name in dict.fromkeys(one.name for one in documents if one.kind == kind):
        document = _find(documents, kind, name)
        if document is not None and _decoded(document, _Claiming).spec.machine_config_pool.name == pool:
            found.append(document)
    if not found:
        return None
    document, *others = found
    if others:
        names = " and ".join(each.name for each in found)
        raise Wrong(f"MachineOSConfigs {names} all name MachineConfigPool {pool}: give the file of one of them with -f")
    if document.api_version not in ("", version):
        raise Wrong(
            f"{document.place}: {document.title} is of {document.api_version}, and only {version} is read: give it as "
            "that, or leave it out and give --containerfile"
        )
    return _decoded(document, MachineOSConfig)


def _target(push: str) -> Target:
    try:
        return Target.parse(push)
    except ValueError as error:
        raise Wrong(f"--push: {error}") from None


def _egress(documents: Sequence[Document], trust_bundle: Path | None, authorities: Path | None) -> Egress:
    """By the ControllerConfig, if it is among the documents; a trust bundle that is given replaces that one's."""
    found = _find(documents, "ControllerConfig", CONTROLLER_CONFIG)
    try:
        bundle = _certificates(trust_bundle)
        options = Egress(trust_bundle=bundle, authorities=_certificates(authorities))
        egress = egress_of(_decoded(found, ControllerConfig) if found else None, options=options)
    except ValueError as error:
        raise Wrong(str(error)) from None
    return structs.replace(egress, trust_bundle=bundle or egress.trust_bundle)


def _certificates(path: Path | None) -> str:
    try:
        return certificates_in(path) if path else ""
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}") from None


def _user_part(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Wrong(f"{file}: not UTF-8 text: {error.reason}") from None
    if found := lint_user_part(text) or lint_stages(text):
        raise Wrong("; ".join(f"{file}:{each.line}: {each.text}" for each in found))
    return text


def _only_rendered(choices: Choices, documents: Sequence[Document]) -> str:
    begin = f"{RENDERED}{choices.pool}-"
    names = {one.name for one in documents if one.kind == "MachineConfig" and one.name.startswith(begin)}
    if len(names) == 1:
        return names.pop()
    found = f"{len(names)} MachineConfigs are named {begin}..." if names else f"no MachineConfig is named {begin}..."
    raise Wrong(
        f"MachineConfigPool {choices.pool} is not among the {len(documents)} objects that were read, and {found}: give "
        "the file of the pool, or of one rendered MachineConfig, with -f"
    )


def _given(documents: Sequence[Document], *, push: str | None) -> Given:
    """The data of the ConfigMaps. Secrets have no part in this: what they are named does not matter."""

    def data(name: str) -> Mapping[str, str] | None:
        found = _find(documents, "ConfigMap", name, namespace=constants.NAMESPACE)
        return _decoded(found, ConfigMap).data if found else None

    config = data(constants.BUILDER_CONFIG) or data(constants.BUILDER_CONFIG_ALIAS) or {}
    pullspec = _NO_TARGET if push is None else push or config.get(PULLSPEC, "")
    if not pullspec:
        raise click.UsageError("it is not known where to push the image: give --push HOST/ORG/REPO")
    return Given(
        config={PULL_SECRET: "-", PUSH_SECRET: "-", PULLSPEC: pullspec},
        containerfiles=data(constants.CONTAINERFILES),
        os_images=data(constants.OS_IMAGES),
    )


def _find(documents: Sequence[Document], kind: str, name: str, *, namespace: str = "") -> Document | None:
    """The last one, since a later input overrides an earlier one."""
    matching = (
        one for one in reversed(documents) if (one.kind, one.name) == (kind, name) and one.namespace in ("", namespace)
    )
    return next(matching, None)


def _decoded(document: Document, kind: type[T]) -> T:
    try:
        return document.decode(kind)
    except Undecodable as problem:
        raise Wrong(f"{document.place}: {document.title}: {problem}") from None
