"""`windlass demo`: the main job on real parts, shown as it happens.

A control plane of its own is started, machines are made by Cluster API's real manager and mirrored by `windlass run` in
a process of its own, under the ServiceAccount that it ships with. Every step says what a user would type, and counts
only when its effect was seen in the API server.

| module | what it holds |
|---|---|
| `story` | the steps: command, act, expectation, deadline; read it as the documentation of what Windlass does |
| `expectations`, `hand_over` | when a step of the first act, and of the second, has come true |
| `scene` | what is seen at one moment |
| `stage` | the control plane and the processes beside it |
| `identity` | who Windlass is there |
| `audience` | the caches through which the story is watched |
| `performance` | the steps in order, against the clock |
| `view` | how it looks |
| `showing` | these parts put together |
| `keeping` | `--keep`: the stage stays when the command has ended |
| `manifests/` | the cluster of the story |
"""

from pathlib import Path

import click

from windlass.cli.conventions.settings import Settings, settings_of


@click.command("demo")
@click.option("--keep", is_flag=True, help="Leave everything running afterwards, and say how to use and stop it.")
@click.option("--svg", metavar="FILE", type=click.Path(path_type=Path), help="Also draw the session into FILE.")
@settings_of
def command(settings: Settings, *, keep: bool, svg: Path | None) -> int:
    """Show what Windlass does, on a real control plane that is started for it.

    Takes about a minute, and 6 more the first time, when etcd, kube-apiserver and Cluster API are built. Nothing is
    left behind unless --keep says so. Exit code 0 means that every step was seen to come true.
    """
    for option, value in (("--kubeconfig", settings.kubeconfig), ("--context", settings.context)):
        if value is not None:
            raise click.UsageError(f"{option} makes no sense here: the demo works only on the control plane it starts")
    if keep:
        from windlass.cli.demo import keeping

        return keeping.run(svg=svg)
    from windlass.cli.demo import showing

    return showing.run(svg=svg)
