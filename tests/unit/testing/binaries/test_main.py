"""`python -m windlass.testing.binaries`: the arguments, and the proof that a program is for the platform asked for."""

import struct
import sys
from pathlib import Path

import pytest

from windlass.testing.binaries import ETCD, BuildFailed, Cache, Platform
from windlass.testing.binaries.__main__ import check_platform, main

from .conftest import put

ELF_ARM64 = b"\x7fELF" + bytes(14) + struct.pack("<H", 183) + bytes(44)
MACH_O_ARM64 = b"\xcf\xfa\xed\xfe" + struct.pack("<I", 0x0100000C) + bytes(56)


@pytest.mark.parametrize(("target", "header"), [("linux/arm64", ELF_ARM64), ("darwin/arm64", MACH_O_ARM64)])
def test_a_program_of_the_platform_passes(tmp_path: Path, target: str, header: bytes) -> None:
    (tmp_path / "program").write_bytes(header)
    check_platform(tmp_path / "program", Platform.parse(target))


def test_this_interpreter_is_a_program_of_this_platform() -> None:
    check_platform(Path(sys.executable).resolve(), Platform.here())


@pytest.mark.parametrize(("target", "header"), [("linux/amd64", ELF_ARM64), ("linux/arm64", MACH_O_ARM64)])
def test_a_program_of_another_platform_does_not(tmp_path: Path, target: str, header: bytes) -> None:
    (tmp_path / "program").write_bytes(header)
    with pytest.raises(BuildFailed, match=f"is not a program for {target}"):
        check_platform(tmp_path / "program", Platform.parse(target))


def test_what_is_there_already_is_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(Cache(tmp_path), ETCD, "etcd")
    assert main(["etcd", "--into", str(tmp_path)]) == 1
    assert "etcd is not a program for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["kubelet"], "there is no part kubelet; there are etcd, kubernetes"),
        (["--target", "arm64"], "write it as os/arch"),
        (["--target", "plan9/amd64"], "plan9/amd64 is not among linux/amd64"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert complaint in capsys.readouterr().err
