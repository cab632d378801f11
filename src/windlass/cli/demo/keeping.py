"""`--keep`: the stage belongs to a process that stays, as that of `windlass dev up` does.

The command starts that process, lets it play the story on the same terminal, and ends with its exit code when the story
is over. `windlass dev status` tells of what was left, `windlass dev down` ends it.
"""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from windlass.cli.conventions.complaints import complain, say
from windlass.cli.conventions.exit_codes import Exit
from windlass.cli.demo.showing import Encore, prepared, show
from windlass.cli.demo.stage import Stage
from windlass.testing.background import Background, let_go_of_output
from windlass.testing.plane.errors import NotRunning, PlaneError


def run(*, svg: Path | None) -> int:
    """The demo whose stage stays; returns the exit code."""
    if not prepared():
        return Exit.FAILED
    told, tells = os.pipe()
    player = subprocess.Popen(
        [sys.executable, "-m", "windlass.cli.demo.keeping", str(tells), str(svg or "")],
        stdin=subprocess.DEVNULL,
        pass_fds=[tells],
        # Not in the terminal's group: it must not hear of a Ctrl-C that ends something else later.
        start_new_session=True,
    )
    os.close(tells)
    try:
        code = os.read(told, 1)
    except KeyboardInterrupt:
        player.send_signal(signal.SIGINT)
        player.wait()
        raise
    finally:
        os.close(told)
    if not code:
        return player.wait()
    # It lives on; tell Popen not to wait for it.
    player.returncode = 0
    return code[0]


def play(tells: int, *, svg: Path | None) -> int:
    """Play the story, tell the exit code, and stay until SIGTERM. For the process that stays."""
    background = Background()
    try:
        with background.claim() as directory:
            return asyncio.run(show(Stage(directory, temporary=False), svg=svg, encore=_stay(background, tells)))
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except PlaneError as problem:
        say("error", str(problem))
        return Exit.FAILED
    except Exception as error:
        return complain(error)


def _stay(background: Background, tells: int) -> Encore:
    async def encore(stage: Stage, console: Console, code: int) -> None:
        try:
            background.publish(stage.plane.blocking, cluster_api=True)
        except NotRunning:
            return
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        console.print("\nEverything still runs. To look around, and to stop it:")
        console.print(f"      export KUBECONFIG={stage.plane.kubeconfig()}", soft_wrap=True)
        console.print("      windlass machines")
        console.print("      windlass dev down")
        sys.stdout.flush()
        os.write(tells, bytes([code]))
        os.close(tells)
        let_go_of_output()
        await stopping.wait()

    return encore


if __name__ == "__main__":
    sys.exit(play(int(sys.argv[1]), svg=Path(sys.argv[2]) if sys.argv[2] else None))
