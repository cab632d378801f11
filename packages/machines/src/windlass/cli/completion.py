"""`windlass completion`: the script that makes a shell complete commands, options, contexts and machine names."""

import click

from windlass.capability.conventions.exit_codes import Exit

INSTALL = """\b
bash:  echo 'eval "$(windlass completion bash)"' >> ~/.bashrc
zsh:   echo 'eval "$(windlass completion zsh)"' >> ~/.zshrc
fish:  windlass completion fish > ~/.config/fish/completions/windlass.fish"""


@click.command(help=f"Print the completion script of a shell. To load it in every new shell:\n\n{INSTALL}")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    from click.shell_completion import get_completion_class

    from windlass.cli.program import COMPLETE_VARIABLE, cli

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "windlass", COMPLETE_VARIABLE).source())
    return Exit.OK
