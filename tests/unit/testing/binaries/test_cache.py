import fcntl
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from tests.patience import PATIENCE
from windlass.testing.binaries import Cache, Part, Platform
from windlass.testing.plane.waiting import wait_for

HERE = Platform.here()


def test_a_part_is_found_only_when_it_was_written_whole(cache: Cache, part: Part) -> None:
    cache.root.mkdir()
    with suppress(RuntimeError), cache.incoming(part, HERE) as staging:
        (staging / "half").touch()
        assert cache.find(part, HERE) is None
        raise RuntimeError("the build broke")
    assert cache.find(part, HERE) is None
    assert list(cache.root.iterdir()) == []

    with cache.incoming(part, HERE) as staging:
        (staging / "whole").touch()
    found = cache.find(part, HERE)
    assert found is not None
    assert [file.name for file in found.iterdir()] == ["whole"]


def test_changing_a_pin_changes_the_folder(part: Part, make_part: Callable[..., Part]) -> None:
    before = part.key(HERE)
    make_part(require="require example.invalid/other v1.2.3\n")
    assert part.key(HERE) != before


def test_platforms_have_folders_of_their_own(part: Part) -> None:
    assert part.key(Platform("darwin", "arm64")) != part.key(Platform("linux", "arm64"))
    assert part.key(Platform("darwin", "arm64")).startswith("formatter-v1.0.0-darwin-arm64-")


def test_who_comes_second_waits_and_is_told_so(cache: Cache, said: list[str]) -> None:
    entered = threading.Event()

    def second() -> None:
        with cache.filling(said.append):
            entered.set()

    with cache.filling(said.append):
        waiting = threading.Thread(target=second)
        waiting.start()
        assert wait_for(lambda: said or None, seconds=PATIENCE)
        assert not entered.is_set()
    waiting.join(timeout=PATIENCE)
    assert entered.is_set()
    assert "another process is filling" in said[0]


def test_the_lock_and_the_leftovers_of_a_killed_process_do_not_hinder(
    cache: Cache, part: Part, said: list[str]
) -> None:
    program = (
        "import sys, time; from pathlib import Path; from windlass.testing.binaries import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "with cache.filling(print):\n"
        "    (cache.root / '.incoming-left').mkdir(); print('in', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program, cache.root], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        holder.kill()
    with cache.filling(said.append):
        assert not (cache.root / ".incoming-left").exists()
    assert said == []


def test_the_lock_is_not_inherited_by_programs_that_are_started_meanwhile(cache: Cache, said: list[str]) -> None:
    with cache.filling(said.append):
        child = subprocess.Popen(["sleep", "600"])
    try:
        with open(cache.root / ".lock", encoding="utf-8") as lock:
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        child.kill()
        child.wait()
