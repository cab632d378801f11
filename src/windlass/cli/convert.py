"""`windlass convert`: Cluster API machines in files, as the Machine API has them.

Offline: nothing is asked of a cluster, so it can be tried on what `kubectl get -o yaml` or a backup gives. Machines are
paired with their infrastructure machine and cluster among the documents that were given.

| exit code | meaning |
|---|---|
| 0 | every Machine was converted |
| 1 | some Machine could not be converted (the others are printed), or there was none |
| 2 | input that cannot be read; nothing is printed |
"""

import sys
from typing import TYPE_CHECKING, Any

import click

from windlass.cli.exit_codes import Exit

if TYPE_CHECKING:
    from windlass.machine_sync.documents import Document, Outcome

STDIN = "-"


@click.command(name="convert", short_help="Convert Cluster API machines in files to the Machine API, offline.")
@click.option(
    "-f",
    "--filename",
    "sources",
    multiple=True,
    metavar="FILE|DIR|-",
    help="File, directory (with those below it) or - for standard input; may be repeated.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(["machine-api"]),
    required=True,
    help="The API to convert to.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(sources: tuple[str, ...], target: str, output: str) -> int:
    """Convert Cluster API Machines to Machines of the Machine API, without a cluster.

    Give the Machines together with what they refer to: their AWSMachine, OpenStackMachine or IBMPowerVSMachine, and the
    cluster object of the platform. Other objects do no harm. YAML or JSON, several in a file, lists.

    Converted Machines go to standard output, as YAML documents or as one JSON object with items, warnings and errors;
    what is lost or impossible is said on standard error.
    """
    from windlass.machine_sync.documents import convert_to_machine_api

    documents, readable = _read(sources)
    if not readable:
        return Exit.UNREADABLE
    outcomes = list(convert_to_machine_api(documents))
    _report(outcomes, documents)
    _print(outcomes, output)
    return Exit.OK if outcomes and not any(outcome.errors for outcome in outcomes) else Exit.FAILED


def _read(sources: tuple[str, ...]) -> "tuple[list[Document], bool]":
    """All documents, and whether every source could be read; each that could not is reported."""
    from pathlib import Path

    from windlass.machine_sync.documents import Unreadable, read_path, read_stream

    if not sources and sys.stdin.isatty():
        raise click.UsageError("nothing to read: give files with -f, or pipe them in")
    documents: list[Document] = []
    readable = True
    for source in sources or (STDIN,):
        try:
            documents += read_stream(sys.stdin.buffer) if source == STDIN else read_path(Path(source))
        except Unreadable as problem:
            readable = False
            _say("error", str(problem))
    return documents, readable


def _report(outcomes: "list[Outcome]", documents: "list[Document]") -> None:
    for outcome in outcomes:
        for severity, texts in (("note", outcome.notes), ("warning", outcome.warnings), ("error", outcome.errors)):
            for text in texts:
                _say(severity, f"{outcome.object}: {text}")
    for document in documents:
        if document.kind == "MachineSet" and document.group == "cluster.x-k8s.io":
            _say("note", f"MachineSet/{document.name}: machine sets are not converted, only Machines")
    if not outcomes:
        _say("error", f"no Cluster API Machine among the {len(documents)} objects that were read")


def _print(outcomes: "list[Outcome]", output: str) -> None:
    import msgspec

    from windlass.api import mapi
    from windlass.machine_sync.documents.yaml_dialect import dump_all

    resource = mapi.Machine.RESOURCE
    items: list[dict[str, Any]] = [
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            # Maps sorted by key, structs in their order: the same input gives the same text.
            **msgspec.to_builtins(outcome.machine, order="deterministic"),
        }
        for outcome in outcomes
        if outcome.machine is not None
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
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    click.echo(f"{severity}: {shown}", err=True)
