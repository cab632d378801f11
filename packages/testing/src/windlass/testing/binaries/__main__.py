"""`python -m windlass.testing.binaries`: fill the cache ahead of time, or prove that parts build for other platforms.

    python -m windlass.testing.binaries                                   all that planes need, for this machine
    python -m windlass.testing.binaries etcd kubernetes                   only these parts
    python -m windlass.testing.binaries machine-api                       a part that is otherwise built on first use
    python -m windlass.testing.binaries --all                             every part there is
    python -m windlass.testing.binaries --target darwin/arm64 --into DIR  for another platform, into DIR

A program that is built for another platform is checked to be one of that platform. Standard output lists the folders.
"""

import argparse
import struct
import sys
from pathlib import Path

from windlass.testing.binaries.cache import Cache
from windlass.testing.binaries.errors import BinariesError, BuildFailed
from windlass.testing.binaries.obtain import fill
from windlass.testing.binaries.parts import JUDGES, PARTS, SYSTEMS, Part, Platform

# The second field is the machine number at its place in the header of an ELF or Mach-O file.
_HEADERS = {
    ("linux", "amd64"): (b"\x7fELF", 18, "<H", 62),
    ("linux", "arm64"): (b"\x7fELF", 18, "<H", 183),
    ("darwin", "amd64"): (b"\xcf\xfa\xed\xfe", 4, "<I", 0x01000007),
    ("darwin", "arm64"): (b"\xcf\xfa\xed\xfe", 4, "<I", 0x0100000C),
}


def check_platform(program: Path, target: Platform) -> None:
    """Raise BuildFailed unless the header of `program` is that of a program for `target`."""
    magic, offset, form, machine = _HEADERS[target.os, target.arch]
    with program.open("rb") as file:
        header = file.read(64)
    if not header.startswith(magic) or struct.unpack_from(form, header, offset) != (machine,):
        raise BuildFailed(f"{program} is not a program for {target}: it begins with {header[:20].hex()}")


def main(arguments: list[str]) -> int:
    """Run the command line; returns the exit code."""
    on_first_use = (*JUDGES, *SYSTEMS)
    by_name = {part.name: part for part in (*PARTS, *on_first_use)}
    parser = argparse.ArgumentParser(
        prog="python -m windlass.testing.binaries",
        description="Fill the cache of control plane programs, or build them for another platform.",
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"what to build: {', '.join(by_name)} (default: all but {', '.join(part.name for part in on_first_use)})",
    )
    parser.add_argument("--all", action="store_true", help="build every part, those of first use too")
    parser.add_argument(
        "--target", action="append", metavar="OS/ARCH", help="platform to build for (default: this one)"
    )
    parser.add_argument("--into", type=Path, metavar="DIR", help="folder to use in place of the cache")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(by_name):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(by_name)}")
    targets = [_target(text, parser) for text in options.target or [str(Platform.here())]]
    chosen = tuple(by_name) if options.all else options.parts
    parts = [by_name[name] for name in chosen] or list(PARTS)
    try:
        for target in targets:
            _fill_and_check(parts, target, Cache(options.into.absolute() if options.into else None))
    except BinariesError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1
    return 0


def _fill_and_check(parts: list[Part], target: Platform, cache: Cache) -> None:
    folders = fill(parts, target=target, cache=cache)
    for part in parts:
        for program in part.programs:
            check_platform(folders[part.name] / program.name, target)
        sys.stdout.write(f"{folders[part.name]}\n")


def _target(text: str, parser: argparse.ArgumentParser) -> Platform:
    try:
        target = Platform.parse(text)
    except ValueError as problem:
        parser.error(str(problem))
    if (target.os, target.arch) not in _HEADERS:
        parser.error(f"{text} is not among {', '.join('/'.join(known) for known in _HEADERS)}")
    return target


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
