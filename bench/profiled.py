"""Samples where a `windlass` command spends its CPU time. Unlike cProfile it does not slow calls down.

    python -m bench.profiled REPORT.txt run machine-sync --kubeconfig ...

A timer of the process's own CPU time (ITIMER_PROF) interrupts every 4 ms and notes the stack. At the end the report
says for functions and lines, in percent of all samples, how often they were at the top (self) or anywhere (total).
"""

import collections
import signal
import sys
from pathlib import Path
from types import FrameType

from windlass.cli import main

INTERVAL = 0.004
SHOWN = 130

Counter = collections.Counter[str]


def sample(at_top: Counter, anywhere: Counter, lines: Counter) -> None:
    """Begin to count, into the three counters."""

    def note(_: int, frame: FrameType | None) -> None:
        assert frame is not None
        at_top[_named(frame)] += 1
        lines[f"{_named(frame)}:{frame.f_lineno}"] += 1
        stack: FrameType | None = frame
        seen: set[str] = set()
        while stack is not None:
            seen.add(_named(stack))
            stack = stack.f_back
        anywhere.update(seen)

    signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)


def report(title: str, counter: Counter, *, samples: int) -> str:
    shown = [f"{100 * count / samples:6.1f} %  {name}" for name, count in counter.most_common(SHOWN)]
    return "\n".join([f"{title}, {samples} samples of {INTERVAL * 1000:g} ms", *shown, ""])


def _named(frame: FrameType) -> str:
    code = frame.f_code
    return f"{'/'.join(Path(code.co_filename).parts[-3:])}:{code.co_qualname}"


if __name__ == "__main__":
    top, total, by_line = Counter(), Counter(), Counter()
    target, sys.argv[1:] = Path(sys.argv[1]), sys.argv[2:]
    sample(top, total, by_line)
    try:
        main()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        count = sum(top.values())
        parts = (("total", total), ("self", top), ("self by line", by_line))
        target.write_text("\n".join(report(name, counter, samples=count) for name, counter in parts), encoding="utf-8")
