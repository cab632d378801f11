"""Run the unit tests that mirror what changed since main: `make check`.

    python -m tests.changed [-x ...]     arguments are pytest's

| changed | tests |
|---|---|
| `windlass/a/b/c.py` below `packages` | `tests/unit/a/b/test_c.py`, or the nearest folder of `tests/unit` |
| a test of `tests/unit` | itself; another module there: its folder |
| anything else of `docs`, `deploy` or a page beside them | `tests/unit/deploy` |

What needs real parts (`tests/api`, `tests/e2e`) is not run, nor what is marked `slow`: crashes at every write, and
properties, that take more than three seconds.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    chosen = sorted(mirrors_of(changed()))
    if not chosen:
        print("No unit test mirrors what changed since main.")
        return 0
    print(" ".join(chosen), flush=True)
    return subprocess.call([sys.executable, "-m", "pytest", "-q", "-m", "not slow", *arguments, *chosen], cwd=ROOT)


def changed(root: Path = ROOT) -> list[str]:
    """The files that differ from where this branch left main, and new ones. Exits if `root` knows no main."""
    for main_branch in ("main", "origin/main"):  # a clone of another branch has the second alone
        if base := _git(root, "merge-base", "HEAD", main_branch):
            new = _git(root, "ls-files", "--others", "--exclude-standard")
            return [*_git(root, "diff", "--name-only", *base), *new]
    sys.exit(
        "error: there is no branch main to compare with: run `git fetch origin main:main` in a clone with its history"
    )


def mirrors_of(files: Iterable[str]) -> set[str]:
    """The unit tests of these files, without those that are in a folder of others."""
    found = {test for file in files if (test := _test_of(Path(file)))}
    return {test for test in found if not any(str(parent) in found for parent in Path(test).parents)}


def _test_of(file: Path) -> str | None:
    match file.parts:
        case ("packages", _, "src", "windlass", *folders, name) if name.endswith(".py"):
            own = Path("tests", "unit", *folders, f"test_{name}")
            return str(own) if (ROOT / own).exists() else _nearest(folders)
        case ("tests", "unit", *folders, name) if name.endswith(".py"):
            itself = name.startswith("test_") and (ROOT / file).exists()
            return str(file) if itself else _nearest(folders)
        case ("docs" | "deploy" | "examples", *_) | ("README.md" | "CONTRIBUTING.md",):
            return "tests/unit/deploy"
    return None


def _nearest(folders: Iterable[str]) -> str | None:
    """The deepest folder of `tests/unit` along these; None if there is none."""
    there = Path("tests", "unit")
    for folder in folders:
        if not (ROOT / there / folder).is_dir():
            break
        there /= folder
    return str(there) if there != Path("tests", "unit") else None


def _git(root: Path, *arguments: str) -> list[str]:
    """The words that git prints; none if it fails."""
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False).stdout.split()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
