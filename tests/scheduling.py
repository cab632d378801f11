"""Gives test files to pytest-xdist's workers so that a worker that crashes costs one failed case.

pytest-xdist 3.8 gives others all files of a worker that crashed, also those that it had finished, and the case in which
it crashed. A worker that is given a finished file waits for ever for a case to run, and the whole run waits for it.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class ByFile(LoadFileScheduling):
    """What `--dist loadfile` means here."""

    def remove_node(self, node: WorkerController) -> str | None:
        """Returns the case in which the worker crashed, which has failed; others run the cases after it."""
        files = self.assigned_work[node]
        crashed = next((case for cases in files.values() for case, done in cases.items() if not done), None)
        for file, cases in [*files.items()]:
            if crashed in cases:
                cases[crashed] = True
            if all(cases.values()):
                del files[file]
        super().remove_node(node)
        return crashed


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.option.dist == "loadfile" else None
