"""`windlass run machine-sync` as processes on the namespaces of a stage, under the ServiceAccount that is shipped."""

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tests import program
from tests.program import Program

from .stage import Stage


def starting(
    stage: Stage, folder: Path, *arguments: str, kubeconfig: Path | None = None
) -> AbstractAsyncContextManager[Program]:
    """A process that was started this moment, under the ServiceAccount or with another `kubeconfig`."""
    return program.starting(_argv(stage, kubeconfig or stage.account, *arguments), folder)


def replica(stage: Stage, folder: Path, *arguments: str) -> AbstractAsyncContextManager[Program]:
    """A process that is ready."""
    return program.running(_argv(stage, stage.account, *arguments), folder)


def _argv(stage: Stage, kubeconfig: Path, *arguments: str) -> list[str]:
    return [
        *(sys.executable, "-m", "windlass", f"--kubeconfig={kubeconfig}", "run", "machine-sync"),
        f"--machine-api-namespace={stage.namespaces.machine_api}",
        f"--cluster-api-namespace={stage.namespaces.cluster_api}",
        *arguments,
    ]
