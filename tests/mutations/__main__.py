"""Break the program on purpose, one line at a time, and see that a test notices: `make mutate`.

Each `Mutation` of `entries` is applied to a copy of the program in a temporary folder, never in place, and the tests
that it names are run against that copy: killed if one fails, survived if all pass. First they are run against an
unchanged copy, since a test that fails anyway proves nothing. Exit code 1 if one survives, if its text is not found
exactly once (the code has changed: change the entry too), or if its tests cannot be run.

    python -m tests.mutations                  all of them
    python -m tests.mutations lease queue      those whose file or text has one of these words
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from msgspec import Struct

from tests.house import ROOT, SOURCES, source
from tests.mutations.entries import MUTATIONS, Mutation

PATIENCE = 300.0
"""Seconds after which tests that hang are taken for tests that fail."""

Fate = Literal["killed", "killed (hangs)", "SURVIVED", "NOT FOUND", "NO TESTS"]


class Verdict(Struct, frozen=True):
    """What became of a mutation. `output` is what pytest said where that is of interest."""

    fate: Fate
    seconds: float = 0.0
    output: str = ""

    @property
    def good(self) -> bool:
        return self.fate.startswith("killed")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutate", description="Break the program and see that a test notices.")
    parser.add_argument("words", nargs="*", help="only mutations whose file or text has one of these words")
    parser.add_argument("-j", "--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options = parser.parse_args(arguments)
    chosen = [one for one in MUTATIONS if not options.words or any(w in str(one) for w in options.words)]
    if not chosen:
        parser.error(f"no mutation's file or text has one of these words: {' '.join(options.words)}")
    with tempfile.TemporaryDirectory(prefix="windlass-mutations-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.jobs):
            copies.put(_copy(Path(folder) / str(number)))
        tests = sorted({one.tests for one in chosen})
        whole = _run(tests, copies)
        if whole.fate != "SURVIVED":
            print(f"{whole.output}\nThe tests fail without a mutation: nothing can be told.", file=sys.stderr)
            return 1
        with ThreadPoolExecutor(options.jobs) as pool:
            try:
                verdicts = list(pool.map(lambda one: _tell(one, _judge(one, copies)), chosen))
            except BaseException:  # interrupted: what runs comes to its end, what waits does not begin
                pool.shutdown(cancel_futures=True)
                raise
    killed = sum(verdict.good for verdict in verdicts)
    print(f"{killed} of {len(chosen)} killed")
    return 0 if killed == len(chosen) else 1


def _tell(mutation: Mutation, verdict: Verdict) -> Verdict:
    print(f"{verdict.fate:<14} {verdict.seconds:5.1f} s  {mutation}", flush=True)
    if verdict.output and not verdict.good:
        print(verdict.output, flush=True)
    return verdict


def _copy(folder: Path) -> Path:
    for each in SOURCES:
        shutil.copytree(each, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return folder


def _judge(mutation: Mutation, copies: "SimpleQueue[Path]") -> Verdict:
    text = source(mutation.file).read_text()
    count = text.count(mutation.text)
    if count != 1:
        return Verdict("NOT FOUND", output=f"its text is there {count} times; an entry's text must be there once")
    return _run([mutation.tests], copies, mutation)


def _run(tests: Sequence[str], copies: "SimpleQueue[Path]", mutation: Mutation | None = None) -> Verdict:
    began = time.monotonic()
    copy = copies.get()
    try:
        with _mutated(copy, mutation):
            code, output = _pytest(tests, copy)
    finally:
        copies.put(copy)
    fate: Fate = {0: "SURVIVED", 1: "killed", None: "killed (hangs)"}.get(code, "NO TESTS")  # type: ignore[assignment]
    return Verdict(fate, time.monotonic() - began, "" if code in (0, 1) and mutation else output)


@contextmanager
def _mutated(copy: Path, mutation: Mutation | None) -> Iterator[None]:
    if mutation is None:
        yield
        return
    file = copy / "windlass" / mutation.file
    whole = file.read_text()
    file.write_text(whole.replace(mutation.text, mutation.replacement))
    try:
        yield
    finally:
        file.write_text(whole)


def _pytest(tests: Sequence[str], copy: Path) -> tuple[int | None, str]:
    """The exit code of pytest, None if it hangs, and the end of what it said."""
    command = [sys.executable, "-c", _AGAINST_THE_COPY, str(copy), "-x", "-q", "-p", "no:cacheprovider", *tests]
    # CI: properties are judged by the same examples each time. No bytecode: it would outlive the change of a second.
    settings = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, output[-4000:]


_AGAINST_THE_COPY = """
import importlib.util, sys
source = sys.argv.pop(1)
# Found, not imported: pytest rewrites the assertions of its plugins, and windlass has one.
found = importlib.util.find_spec("windlass").submodule_search_locations[0]
assert found.startswith(source), f"{found} is not in the copy in {source}"
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
