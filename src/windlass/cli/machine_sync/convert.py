"""`windlass convert`: converts Machines and MachineSets in files to the other API.

It works offline, on the output of `kubectl get -o yaml`, a backup or a must-gather. Objects that a Machine or
MachineSet refers to must be among the given documents.

| exit code | meaning |
|---|---|
| 0 | every Machine and MachineSet was converted |
| 1 | some could not be converted (the others are printed), or there was none |
| 2 | input that cannot be read; nothing is printed |
"""

import sys
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.conventions.complaints import harmless
from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.machine_sync import sides
from windlass.machine_sync.constants import CLUSTER_API

if TYPE_CHECKING:
    from windlass.capability.documents import Document
    from windlass.machine_sync.documents import ConversionOutcome


@click.command(name="convert", short_help="Convert machines in files from one API to the other, offline.")
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    metavar="FILE|DIR|-",
    help="File, directory (with those below it), must-gather or - for standard input; may be repeated.",
)
@click.option("--to", "target", type=sides.ApiParam(), required=True, help="The API to convert to.")
@click.option("--status/--no-status", default=True, show_default=True, help="Print the status too.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Namespace of the output. [default: openshift-cluster-api or openshift-machine-api, by --to]",
)
def command(sources: tuple[str, ...], *, target: str, status: bool, output: str, namespace: str | None) -> int:
    """Convert Machines and MachineSets from one API to the other, without a cluster.

    To machine-api: give Cluster API's Machines and MachineSets together with what they refer to, their AWSMachine,
    OpenStackMachine or IBMPowerVSMachine (for a set, the template of those), and the cluster object of the platform.

    To cluster-api: give the Machine API's Machines and MachineSets together with the cluster's Infrastructure. The
    result has two objects for each: the second is its infrastructure machine or template.

    Other objects are ignored. Input may be YAML or JSON, with several documents or lists; of a must-gather, only
    objects that concern machines are read.

    Standard output has the converted objects, as YAML documents or as one JSON object with items, warnings and errors.
    Standard error has warnings about lost fields, and errors. The output can be piped to kubectl apply; --no-status
    leaves out the status, which an API server would ignore.
    """
    from windlass.machine_sync.documents import convert_to_cluster_api, convert_to_machine_api

    documents = _read(sources)
    if documents is None:
        return Exit.UNREADABLE
    convert = convert_to_cluster_api if target == CLUSTER_API else convert_to_machine_api
    outcomes = list(convert(documents, namespace=namespace))
    _report(outcomes)
    if not outcomes:
        source = "Machine API" if target == CLUSTER_API else "Cluster API"
        _say("error", f"no {source} Machine or MachineSet among the {len(documents)} objects that were read")
    _print(outcomes, output, status=status)
    return Exit.OK if outcomes and not any(outcome.errors for outcome in outcomes) else Exit.FAILED


def _read(sources: tuple[str, ...]) -> "list[Document] | None":
    """All documents; None if anything cannot be read, after the error was printed."""
    from windlass.capability.documents import STDIN, read_inputs
    from windlass.machine_sync.documents import MACHINES

    if not sources and sys.stdin.isatty():
        raise click.UsageError("nothing to read: give files with -f, or pipe them in")
    documents, problems = read_inputs(sources or (STDIN,), stdin=sys.stdin.buffer, interest=MACHINES)
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
        {
            "apiVersion": result.RESOURCE.api_version,
            "kind": result.RESOURCE.kind,
            # Maps sorted by key, structs in their order: the same input gives the same text.
            **{
                key: value
                for key, value in msgspec.to_builtins(result, order="deterministic").items()
                if status or key != "status"
            },
        }
        for outcome in outcomes
        for result in outcome.results
    ]
    if output == "json":
        whole = {
            "items": items,
            "warnings": [{"object": one.object, "message": text} for one in outcomes for text in one.warnings],
            "errors": [{"object": one.object, "message": text} for one in outcomes for text in one.errors],
        }
        data = msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"
    elif items:
        data = dump_all(items).encode()
    else:
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _say(severity: str, text: str) -> None:
    """One line; texts from the input are shown as they are, but cannot break the line."""
    click.echo(f"{severity}: {harmless(text)}", err=True)
