"""`windlass dev cloud up|down|status|env|fault`: a real OpenStack on this computer, without containers or root."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from windlass.capability.conventions.complaints import say
from windlass.capability.conventions.exit_codes import Exit

if TYPE_CHECKING:
    from windlass.testing.cloud.background import Running

SERVICES = ("keystone", "placement", "glance", "neutron", "nova", "cinder", "octavia")
USERS = ("demo", "alt", "admin")

_as_user = click.option(
    "--cloud", type=click.Choice(USERS), default="demo", help="The user, which has a project of the same name."
)


@click.group("cloud")
def cloud() -> None:
    """Start and stop a real OpenStack on this computer, and make its requests fail.

    Keystone, Placement, Glance, Neutron, Nova, Cinder and Octavia, on loopback and in the background. They are
    installed from PyPI once (about 100 seconds, 700 MB) and cached.
    """


@cloud.command()
@click.option("--skip", type=click.Choice(["cinder", "octavia"]), multiple=True, help="Leave a service out.")
@click.option("--tls", is_flag=True, help="Serve HTTPS, with an authority of its own.")
@click.option("--spawn-delay", type=float, metavar="SECONDS", help="How long the boot of a server takes. Default 0.")
@click.option("--lb-delay", type=float, metavar="SECONDS", help="How long a load balancer takes. Default 0.2.")
@click.option("--token-life", type=int, metavar="SECONDS", help="How long a token is valid. Default a day.")
@click.option("--debug", is_flag=True, help="Write debug logs.")
@_as_user
def up(*, cloud: str, **options: Any) -> int:
    """Start the cloud and print how to use it.

    Standard output is one line for the shell: eval "$(windlass dev cloud up)".
    """
    from windlass.testing.cloud.background import BackgroundCloud
    from windlass.testing.cloud.errors import CloudError
    from windlass.testing.plane.errors import PlaneError

    background = BackgroundCloud()
    if (running := background.running()) is not None:
        click.echo(f"running already, since {running.since}", err=True)
    else:
        try:
            running = background.up(**{name: value for name, value in options.items() if value})
        except (PlaneError, CloudError) as problem:
            # Not through say(): the message has the end of a log, whose line breaks matter.
            click.echo(f"error: {problem}", err=True)
            return Exit.FAILED
        keystone = running.urls["keystone"]
        click.echo(f"the cloud is ready at {keystone}; stop it with `windlass dev cloud down`", err=True)
    click.echo(running.export(cloud))
    return Exit.OK


@cloud.command()
def down() -> int:
    """Stop the cloud that `windlass dev cloud up` started, and remove its data."""
    from windlass.testing.cloud.background import BackgroundCloud
    from windlass.testing.plane.errors import PlaneError

    try:
        stopped = BackgroundCloud().down()
    except PlaneError as problem:
        say("error", str(problem))
        return Exit.FAILED
    click.echo(f"stopped the cloud at {stopped.urls['keystone']}", err=True)
    return Exit.OK


@cloud.command()
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="How to print it.")
def status(*, output: str) -> int:
    """Show whether the cloud and each of its services runs; exit code 1 if one does not."""
    from windlass.testing.cloud.background import BackgroundCloud
    from windlass.testing.cloud.services import listening

    running = BackgroundCloud().running()
    if running is None:
        if output == "json":
            click.echo(json.dumps({"running": False}))
        click.echo("no cloud is running; start one with `windlass dev cloud up`", err=True)
        return Exit.FAILED
    up = {service: listening(url) for service, url in running.urls.items()}
    if output == "json":
        click.echo(json.dumps({"running": True, "up": up, "clouds_yaml": running.clouds_yaml} | asdict(running)))
    else:
        click.echo(_describe(running, up))
    return Exit.OK if all(up.values()) else Exit.FAILED


@cloud.command()
@_as_user
def env(*, cloud: str) -> int:
    """Print the line that points clients of OpenStack at the cloud."""
    if (running := _running()) is None:
        return Exit.FAILED
    click.echo(running.export(cloud))
    return Exit.OK


@cloud.command()
@click.argument("service", type=click.Choice(SERVICES))
@click.option("--method", help="Requests of this method only.")
@click.option("--path", metavar="REGEX", help="Requests whose path, with the query, this finds.")
@click.option("--user-agent", metavar="REGEX", help="Requests of such a client; services are clients too.")
@click.option("--project", metavar="ID", help="Requests of this project only.")
@click.option("--skip", type=int, metavar="N", help="Let that many requests pass first.")
@click.option("--count", type=int, metavar="N", help="Hit that many requests at most.")
@click.option("--status", type=int, help="Answer with this status.")
@click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header of that answer.")
@click.option("--body", help="The body of that answer.")
@click.option("--delay", type=float, metavar="SECONDS", help="Wait before the answer.")
@click.option("--drop", is_flag=True, help="Close the connection without an answer.")
@click.option("--after", is_flag=True, help="Do the work first, and lose its answer.")
@click.option("--list", "listing", is_flag=True, help="Print the rules, one JSON object a line.")
@click.option("--clear", is_flag=True, help="Remove the rules of the service.")
def fault(*, service: str, headers: Sequence[str], listing: bool, clear: bool, **rule: Any) -> int:
    """Make requests to a service fail: windlass dev cloud fault neutron --path '/ports$' --status 503 --count 2

    Neither a rule nor its hits survive a restart of the cloud.
    """
    rule = {name: value for name, value in rule.items() if value not in (None, False)}
    acts = {"status", "delay", "drop"} & rule.keys()
    if (listing or clear) == bool(acts) or (listing and clear):
        raise click.UsageError("say what is to happen: one of --status, --delay and --drop, or --list, or --clear")
    if "status" not in rule and (headers or "body" in rule):
        raise click.UsageError("--header and --body belong to an answer: give its --status")
    if headers:
        rule["headers"] = dict(map(_header, headers))
    if (running := _running()) is None:
        return Exit.FAILED
    if service not in running.urls:
        say("error", f"the cloud has been started without {service}")
        return Exit.FAILED
    access = running.access()
    if listing:
        for one in access.faults(service):
            click.echo(json.dumps(one))
    elif clear:
        access.clear_faults(service)
    else:
        access.fault(service, **rule)
    return Exit.OK


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon:
        raise click.UsageError(f"{text!r} is not a header: write it as 'Retry-After: 1'")
    return name.strip(), value.strip()


def _running() -> "Running | None":
    from windlass.testing.cloud.background import BackgroundCloud

    running = BackgroundCloud().running()
    if running is None:
        say("error", "no cloud is running: start one with `windlass dev cloud up`")
    return running


def _describe(running: "Running", up: dict[str, bool]) -> str:
    rows = {service: f"{url}{'' if up[service] else '  DOWN'}" for service, url in running.urls.items()}
    rows |= {
        "since": running.since,
        "process": str(running.pid),
        "logs": running.logs,
        "use it": running.export("demo"),
    }
    return "\n".join(f"{name:<12} {value}" for name, value in rows.items())
