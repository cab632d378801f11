"""What the folder of a registry says of the images in it: layers over each other."""

import json
from pathlib import Path

import pytest

from tests.pushing import layer
from windlass.testing.registry.image import digest, image
from windlass.testing.registry.stored import Images

Layer = dict[str, bytes | str | None]


def stored(folder: Path, *layers: Layer) -> Images:
    """A folder as the registry writes it, with the image org/os:v1."""
    root = folder / "docker/registry/v2"
    manifest, blobs = image(*(layer(files) for files in layers), config={"config": {"Labels": {"a": "b"}}})
    for blob in (manifest, *blobs):
        value = digest(blob).removeprefix("sha256:")
        (data := root / "blobs/sha256" / value[:2] / value / "data").parent.mkdir(parents=True, exist_ok=True)
        data.write_bytes(blob)
    for where in ("tags/v1/current", f"revisions/{digest(manifest).replace(':', '/')}"):
        (link := root / "repositories/org/os/_manifests" / where / "link").parent.mkdir(parents=True)
        link.write_text(digest(manifest))
    return Images(folder)


@pytest.mark.parametrize(
    ("layers", "path", "content"),
    [
        pytest.param([{"etc/motd": b"a"}], "/etc/motd", b"a", id="a file"),
        pytest.param([{"./etc/motd": b"a"}], "etc/motd", b"a", id="with a dot"),
        pytest.param([{"etc/motd": b"a"}, {"etc/motd": b"b"}], "/etc/motd", b"b", id="the last layer wins"),
        pytest.param([{"etc/motd": b"a"}, {"etc/.wh.motd": b""}], "/etc/motd", None, id="whiteout"),
        pytest.param([{"etc/motd": b"a"}, {".wh.etc": b""}], "/etc/motd", None, id="whiteout of a folder"),
        pytest.param([{"a/x": b"a"}, {"a/y": b"b", "a/.wh..wh..opq": b""}], "/a/x", None, id="opaque folder"),
        pytest.param([{"a/x": b"a"}, {"a/y": b"b", "a/.wh..wh..opq": b""}], "/a/y", b"b", id="in an opaque folder"),
        pytest.param([{"a/x": b"a"}, {"a": b"b"}], "/a/x", None, id="a file in the place of a folder"),
        pytest.param([{"a": b"a"}, {"a": None}], "/a", None, id="a folder in the place of a file"),
        pytest.param([{"usr/etc/motd": b"a", "etc": "usr/etc"}], "/etc/motd", b"a", id="folder that is a link"),
        pytest.param([{"a/m": "../b/m"}, {"b/m": b"a"}], "/a/m", b"a", id="link over layers"),
        pytest.param([{"a/m": "/b", "b": b"a"}], "/a/m", b"a", id="absolute link"),
        pytest.param([{"a": "b", "b": "a"}], "/a", None, id="links in a circle"),
        pytest.param([{"a": "nowhere"}], "/a", None, id="link to nothing"),
        pytest.param([{"a/x": b"a"}], "/a", None, id="a folder"),
        pytest.param([], "/a", None, id="no layers"),
    ],
)
def test_a_file_is_what_the_layers_make_of_it(
    tmp_path: Path, layers: list[Layer], path: str, content: bytes | None
) -> None:
    images = stored(tmp_path, *layers)
    if content is None:
        with pytest.raises(FileNotFoundError, match="org/os v1 has no file"):
            images.file("org/os", "v1", path)
    else:
        assert images.file("org/os", "v1", path) == content


def test_an_index_stands_for_its_first_image(tmp_path: Path) -> None:
    images = stored(tmp_path, {"a": b"a"})
    index = json.dumps({"manifests": [{"digest": images.digest("org/os", "v1")}]}).encode()
    value = digest(index).removeprefix("sha256:")
    (data := tmp_path / "docker/registry/v2/blobs/sha256" / value[:2] / value / "data").parent.mkdir(parents=True)
    data.write_bytes(index)
    (tmp_path / "docker/registry/v2/repositories/org/os/_manifests/tags/v1/current/link").write_text(digest(index))
    assert images.file("org/os", "v1", "a") == b"a"
    assert images.labels("org/os", "v1") == {"a": "b"}
