"""Prebuilt archives: only with a digest, and never in the way of a build."""

import hashlib
import io
import os
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from windlass.testing.binaries import ETCD, PARTS, Part, Platform, archives
from windlass.testing.binaries.archives import Archive, Pins, Unusable

LINUX = Platform("linux", "amd64")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(archives, "CONNECT_SECONDS", PATIENCE)
    (tmp_path / "www").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=tmp_path / "www")) as http:
        serving = threading.Thread(target=http.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        serving.join()


@pytest.fixture
def archive(tmp_path: Path, server: str) -> Archive:
    content = b"#!/bin/sh\necho etcd\n"
    path = tmp_path / "www" / "etcd.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("release/etcd")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    digest = hashlib.sha512(path.read_bytes()).hexdigest()
    return Archive(f"{server}/etcd.tar.gz", digest, {"etcd": "release/etcd"})


def pin(archive: Archive) -> Pins:
    return {(f"etcd-{ETCD.version}", "linux/amd64"): [archive]}


def test_a_program_is_taken_out_of_an_archive_that_has_the_pinned_digest(archive: Archive, tmp_path: Path) -> None:
    assert archives.offers(ETCD, LINUX, pinned=pin(archive))
    archives.load(ETCD, LINUX, tmp_path, pinned=pin(archive))
    assert (tmp_path / "etcd").read_text() == "#!/bin/sh\necho etcd\n"
    assert os.access(tmp_path / "etcd", os.X_OK)


def test_an_archive_with_another_digest_is_refused_before_it_is_opened(archive: Archive, tmp_path: Path) -> None:
    forged = Archive(archive.url, "0" * 128, archive.members)
    with pytest.raises(Unusable, match=f"its SHA-512 is {archive.sha512}, pinned is 000"):
        archives.load(ETCD, LINUX, tmp_path, pinned=pin(forged))
    assert not (tmp_path / "etcd").exists()


def test_an_archive_without_the_program_is_refused(archive: Archive, tmp_path: Path) -> None:
    other = Archive(archive.url, archive.sha512, {"etcd": "bin/etcd"})
    with pytest.raises(Unusable, match="no file bin/etcd in it"):
        archives.load(ETCD, LINUX, tmp_path, pinned=pin(other))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/etcd.tar.gz", "{server}/missing.tar.gz"])
def test_a_host_that_refuses_is_no_reason_to_give_up(archive: Archive, server: str, tmp_path: Path, url: str) -> None:
    elsewhere = Archive(url.format(server=server), archive.sha512, archive.members)
    with pytest.raises(Unusable, match="is of no use"):
        archives.load(ETCD, LINUX, tmp_path, pinned=pin(elsewhere))


def test_what_is_pinned_for_one_platform_is_not_offered_for_another(archive: Archive) -> None:
    assert not archives.offers(ETCD, Platform("linux", "arm64"), pinned=pin(archive))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_nothing_is_offered_without_a_pin(part: Part) -> None:
    assert not archives.offers(part, LINUX, pinned={})
