"""Archives of strangers: what is readable is read, nothing is written elsewhere, and none fills memory or disk."""

import gzip
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from windlass.capability.documents import Interest, archive, open_inputs, read_inputs

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\n"


def member(name: str, content: bytes = b"", **header: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in header.items():
        setattr(info, key, value)
    return info, content


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as out:
        for info, content in members:
            out.addfile(info, io.BytesIO(content))
    return written.getvalue()


def pods(*names: str) -> bytes:
    return tar(*(member(f"dump/{name}.yaml", POD % name.encode()) for name in names))


def read(path: Path) -> tuple[list[str], list[str]]:
    """The places of all documents, and the problems."""
    documents, problems = read_inputs([str(path)], stdin=io.BytesIO(), interest=Interest())
    return [f"{one.place} {one.name}" for one in documents], problems


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["dump.tar", "dump.tar.gz", "dump.tgz", "dump"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["tar", "gzip"])
def test_an_archive_is_known_by_its_content_and_its_objects_by_their_place_in_it(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = written(tmp_path / name, pack(pods("b", "a")))

    assert read(path) == ([f"{path}/dump/a.yaml:1 a", f"{path}/dump/b.yaml:1 b"], [])


def test_what_is_malformed_in_an_archive_is_named_by_its_place_in_it(tmp_path: Path) -> None:
    path = written(tmp_path / "dump.tar", tar(member("a/b.yaml", b"- [\n")))

    (problem,) = read(path)[1]

    assert problem.startswith(f"{path}/a/b.yaml:2: invalid YAML")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    good, bad = written(tmp_path / "good", pods("a")), written(tmp_path / "bad", gzip.compress(pods("a"))[:-40])

    with open_inputs([str(good), str(bad)]) as inputs:
        assert [one.is_archive for one in inputs] == [True, False]

    assert list((tmp_path / "temporary").iterdir()) == []


ELSEWHERE = [
    "../outside.yaml",
    "a/../../outside.yaml",
    "/".join(["x"] * 60) + "/deep.yaml",
    "x" * 300 + ".yaml",
]


@pytest.mark.parametrize("name", ELSEWHERE, ids=["up", "up-from-within", "deep", "long"])
def test_a_name_that_leads_elsewhere_or_is_no_name_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = written(tmp_path / "dump.tar", tar(member(name, POD % b"evil"), member("good.yaml", POD % b"good")))

    with open_inputs([str(path)]) as (one,):
        assert one.path is not None
        assert [file.name for file in one.path.rglob("*") if file.is_file()] == ["good.yaml"]
        assert not list(tmp_path.glob("outside.yaml"))


def test_an_absolute_name_is_taken_as_one_below_the_archive(tmp_path: Path) -> None:
    target = tmp_path / "target.yaml"
    path = written(tmp_path / "dump.tar", tar(member(str(target), POD % b"a")))

    assert read(path) == ([f"{path}{target}:1 a"], [])
    assert not target.exists()


def test_links_and_devices_are_left_out_and_a_file_behind_a_link_does_not_follow_it(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret.yaml", POD % b"secret")
    outside = tmp_path / "outside"
    outside.mkdir()
    path = written(
        tmp_path / "dump.tar",
        tar(
            member("link.yaml", type=tarfile.SYMTYPE, linkname=str(secret)),
            member("hard.yaml", type=tarfile.LNKTYPE, linkname=str(secret)),
            member("pipe.yaml", type=tarfile.FIFOTYPE),
            member("device.yaml", type=tarfile.CHRTYPE),
            member("way", type=tarfile.SYMTYPE, linkname=str(outside)),
            member("way/a.yaml", POD % b"a"),
        ),
    )

    assert read(path) == ([f"{path}/way/a.yaml:1 a"], [])
    assert list(outside.iterdir()) == []


def test_a_name_that_is_both_file_and_directory_keeps_the_first(tmp_path: Path) -> None:
    path = written(tmp_path / "d.tar", tar(member("a.yaml", POD % b"a"), member("a.yaml/b.yaml", POD % b"b")))

    assert read(path) == ([f"{path}/a.yaml:1 a"], [])


def test_logs_do_not_count_as_what_is_kept_but_as_what_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "dump.tar", tar(member("pod.log", b"x" * 5000), member("a.yaml", POD % b"a")))

    monkeypatch.setattr(archive, "LARGEST_KEPT", 1000)
    assert read(path) == ([f"{path}/a.yaml:1 a"], [])

    monkeypatch.setattr(archive, "LARGEST_UNPACKED", 4000)
    (problem,) = read(path)[1]
    assert problem.startswith(f"{path}: it unpacks to more than 0 GiB: unpack it, and name its directory")


def test_a_bomb_is_refused_before_it_fills_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_KEPT", 2**20)
    path = written(tmp_path / "bomb.tgz", gzip.compress(tar(member("a.yaml", b" " * (2**20 + 1)))))

    assert path.stat().st_size < 5000
    assert read(path) == ([], [f"{path}: it holds more than 1 MiB of YAML and JSON: unpack it, and name its directory"])


def test_the_claims_of_a_header_are_not_believed(tmp_path: Path) -> None:
    claimed = member("a.yaml", b"", type=tarfile.XHDTYPE)[0]
    claimed.size = 4 * 2**30
    zeros = gzip.compress(claimed.tobuf() + bytes(4 * 2**20))
    path = written(tmp_path / "header.tgz", zeros)

    assert read(path) == ([], [f"{path}: the header of a member has more than 1024 KiB"])


def test_headers_that_follow_headers_without_end_are_refused(tmp_path: Path) -> None:
    header, record = member("a.yaml", type=tarfile.XHDTYPE)[0], b"11 path=abc\n"[:11] + b"\n"
    header.size = len(record)
    chain = (header.tobuf() + record.ljust(512, b"\0")) * 3000

    (problem,) = read(written(tmp_path / "chain.tar", chain))[1]

    assert "header of a member" in problem or "not a whole tar archive" in problem


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    path = written(tmp_path / "many.tar", pods("a", "b", "c", "d"))

    assert read(path) == ([], [f"{path}: it has more than 3 members: unpack it, and name its directory"])


@pytest.mark.parametrize("size", range(40, 1500, 97))
def test_an_archive_that_was_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    whole = gzip.compress(tar(member("a.yaml", POD % b"a" + b"#" + os.urandom(3000).hex().encode())))
    path = written(tmp_path / "cut.tgz", whole[:size])

    documents, problems = read(path)

    assert documents == []
    assert len(problems) == 1
    assert problems[0].startswith(f"{path}: not a whole tar archive: ")


@pytest.mark.parametrize(
    ("start", "kind"),
    [(b"PK\x03\x04", "zip"), (b"\xfd7zXZ\x00", "xz"), (b"BZh9", "bzip2"), (b"\x28\xb5\x2f\xfd", "zstd")],
)
def test_other_archives_are_named_with_what_to_do(tmp_path: Path, start: bytes, kind: str) -> None:
    path = written(tmp_path / "dump.bin", start + bytes(600))

    assert read(path) == ([], [f"{path}: a {kind} archive: unpack it, and name its directory"])


def test_compressed_data_that_is_no_archive_is_a_sentence(tmp_path: Path) -> None:
    path = written(tmp_path / "pod.yaml.gz", gzip.compress(POD % b"a"))

    (problem,) = read(path)[1]

    assert problem.startswith(f"{path}: not a whole tar archive: ")


def test_an_archive_on_standard_input_is_named() -> None:
    documents, problems = read_inputs(["-"], stdin=io.BytesIO(gzip.compress(pods("a"))), interest=Interest())

    assert documents == []
    assert problems == ["stdin: a gzip archive inside another input: give the archive itself, by its name"]
