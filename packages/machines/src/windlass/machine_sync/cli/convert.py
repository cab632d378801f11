"""`windlass convert`: converts machines in files to the other API, or OpenStack's objects to another version.

It works offline, on the output of `kubectl get -o yaml`, a backup or a must-gather. Objects that a Machine or
MachineSet refers to must be among the given documents.

| exit code | meaning |
|---|---|
| 0 | everything that could be meant was converted |
| 1 | some could not be converted (the others are printed), or there was none |
| 2 | input that cannot be read; nothing is printed |
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from windlass.capability.conventions.exit_codes import Exit
from windlass.kube.foreign import harmless, harmless_json
from windlass.machine_sync.cli.sides import ApiParam
from windlass.machine_sync.constants import CLUSTER_API

if TYPE_CHECKING:
    from windlass.capability.documents import ConversionOutcome, Document, Interest

VERSIONS = ("v1beta1", "v1beta2")


class Target(ApiParam):
    """One of the two APIs of machines, or a version of OpenStack's objects."""

    name = "target"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return "|".join((super().get_metavar(param, ctx), *VERSIONS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if value in VERSIONS else super().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        more = [CompletionItem(name) for name in VERSIONS if name.startswith(incomplete)]
        return [*super().shell_complete(ctx, param, incomplete), *more]


class Conversion(NamedTuple):
    """`interest`: what is read of a must-gather. `run` gives the outcomes, none if nothing among the documents was
    meant; `meant` says for people what that is."""

    interest: "Interest"
    run: "Callable[[Sequence[Document]], list[ConversionOutcome]]"
    meant: str


@click.command(name="convert", short_help="Convert machines in files from one API or version to another, offline.")
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    metavar="FILE|DIR|-",
    help="File, directory (with those below it), must-gather or - for standard input; may be repeated.",
)
@click.option("--to", "target", type=Target(), required=True, help="The API, or the version, to convert to.")
@click.option("--status/--no-status", default=True, show_default=True, help="Print the status too.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Namespace of the output. [default: openshift-cluster-api or openshift-machine-api, by --to]",
)
def command(sources: tuple[str, ...], *, target: str, status: bool, output: str, namespace: str | None) -> int:
    """Convert Machines and MachineSets from one API to the other, or OpenStack's objects between the versions of
    Cluster API's provider, without a cluster.

    To machine-api: give Cluster API's Machines and MachineSets together with what they refer to, their infrastructure
    machine such as an AWSMachine (for a set, the template of those), and the cluster object of the platform.

    To cluster-api: give the Machine API's Machines and MachineSets together with the cluster's Infrastructure. The
    result has two objects for each: the second is its infrastructure machine or template.

    Other objects are ignored. Input may be YAML or JSON, with several documents or lists; of a must-gather, only
    objects that concern machines are read.

    To v1beta1 or v1beta2: give OpenStackClusters, OpenStackMachines and templates of both, in the other version. All
    other objects are printed as they are. A field that the other version does not have is kept in an annotation, and
    a warning names it.

    Standard output has the converted objects, as YAML documents or as one JSON object with items, warnings and errors.
    Standard error has warnings about lost fields, and errors. The output can be piped to kubectl apply; --no-status
    leaves out the status, which an API server would ignore.
    """
    conversion = _of_versions(target, namespace) if target in VERSIONS else _of_machines(target, namespace)
    documents = _read(sources, conversion.interest)
    if documents is None:
        return Exit.UNREADABLE
    outcomes = conversion.run(documents)
    _report(outcomes)
    if not outcomes:
        _say("error", f"no {conversion.meant} among the {len(documents)} objects that were read")
    _print(outcomes, output, status=status)
    return Exit.OK if outcomes and not any(outcome.errors for outcome in outcomes) else Exit.FAILED


def _of_machines(target: str, namespace: str | None) -> Conversion:
    from windlass.machine_sync.documents import MACHINES, convert_to_cluster_api, convert_to_machine_api

    convert = convert_to_cluster_api if target == CLUSTER_API else convert_to_machine_api
    source = "Machine API" if target == CLUSTER_API else "Cluster API"
    meant = f"{source} Machine or MachineSet"
    return Conversion(MACHINES, lambda documents: list(convert(documents, namespace=namespace)), meant)


def _of_versions(target: str, namespace: str | None) -> Conversion:
    from windlass.openstack.versions.documents import INTEREST, MEANT, convert_documents

    if namespace is not None:
        raise click.UsageError(f"objects keep their namespace with --to {target}: leave out -n")
    return Conversion(INTEREST, lambda documents: convert_documents(documents, target), MEANT)


def _read(sources: tuple[str, ...], interest: "Interest") -> "list[Document] | None":
    """All documents; None if anything cannot be read, after the error was printed."""
    from windlass.capability.documents import STDIN, read_inputs

    if not sources and sys.stdin.isatty():
        raise click.UsageError("nothing to read: give files with -f, or pipe them in")
    documents, problems = read_inputs(sources or (STDIN,), stdin=sys.stdin.buffer, interest=interest)
    for text in problems:
        _say("error", text)
    return None if problems else documents


def _report(outcomes: "list[ConversionOutcome]") -> None:
    for outcome in outcomes:
        for severity, texts in (("note", outcome.notes), ("warning", outcome.warnings), ("error", outcome.errors)):
            for text in texts:
                _say(severity, f"{outcome.object}: {text}")


def _print(outcomes: "list[ConversionOutcome]", output: str, *, status: bool) -> None:
    import msgspec

    from windlass.capability.documents.yaml_dialect import dump_all

    items: list[dict[str, Any]] = [
        {key: value for key, value in _tree(result).items() if status or key != "status"}
        for outcome in outcomes
        for result in outcome.results
    ]
    if output == "json":
        whole = {
            "items": items,
            "warnings": [{"object": one.object, "message": text} for one in outcomes for text in one.warnings],
            "errors": [{"object": one.object, "message": text} for one in outcomes for text in one.errors],
        }
        text = msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()
        data = f"{harmless_json(text)}\n".encode()
    elif items:
        data = dump_all(items).encode()
    else:
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _tree(result: Any) -> dict[str, Any]:
    import msgspec

    if isinstance(result, dict):
        return result
    return {
        "apiVersion": result.RESOURCE.api_version,
        "kind": result.RESOURCE.kind,
        # Maps sorted by key, structs in their order: the same input gives the same text.
        **msgspec.to_builtins(result, order="deterministic"),
    }


def _say(severity: str, text: str) -> None:
    """One line; texts from the input are shown as they are, but cannot break the line."""
    click.echo(f"{severity}: {harmless(text)}", err=True)
