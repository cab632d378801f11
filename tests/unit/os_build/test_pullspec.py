"""Repositories and pullspecs."""

import pytest

from windlass.os_build.pullspec import Target

DIGEST = "sha256:" + "628e4e8f" * 8


@pytest.mark.parametrize(
    ("text", "host", "path"),
    [
        ("registry.hostname.com/org/repo", "registry.hostname.com", "org/repo"),
        ("registry.hostname.com/org/repo:latest", "registry.hostname.com", "org/repo"),
        ("registry.hostname.com:5000/repo:v1.2_3-x", "registry.hostname.com:5000", "repo"),
        ("localhost/org/repo", "localhost", "org/repo"),
        ("localhost:5000/org/repo:x", "localhost:5000", "org/repo"),
        ("127.0.0.1:5061/os/layered", "127.0.0.1:5061", "os/layered"),
        ("[::1]:5061/os/layered", "[::1]:5061", "os/layered"),
        ("image-registry.svc:5000/openshift/os", "image-registry.svc:5000", "openshift/os"),
        ("r.example.com/a/b/c/d__e-f.g", "r.example.com", "a/b/c/d__e-f.g"),
    ],
)
def test_a_target_is_a_host_and_a_path_whatever_its_tag(text: str, host: str, path: str) -> None:
    target = Target.parse(text)
    assert target == Target(host, path)
    assert target.tagged("build-1") == f"{host}/{path}:build-1"
    assert target.digested(DIGEST) == f"{host}/{path}@{DIGEST}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "has no host"),
        ("org/repo", "has no host"),
        ("registry.hostname.com", "has no host"),
        ("registry.hostname.com/", "'' is no part"),
        ("registry.hostname.com/Org/repo", "'Org' is no part"),
        ("registry.hostname.com/org//repo", "'' is no part"),
        ("registry.hostname.com/org/repo:", "'' is no tag"),
        ("registry.hostname.com/org/repo:a tag", "'a tag' is no tag"),
        (f"registry.hostname.com/org/repo@{DIGEST}", "has a digest"),
        ("https://registry.hostname.com/org/repo", "has no host"),
        ("registry.hostname.com/" + "a" * 300, "longer than 255"),
    ],
)
def test_what_is_no_target_is_refused_with_an_example(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong) as refused:
        Target.parse(text)
    assert "host[:port]/org/repo" in str(refused.value)


@pytest.mark.parametrize("digest", ["", "latest", "sha256:abc", "sha512:" + "0" * 128, DIGEST.upper()])
def test_only_a_digest_makes_a_digested_pullspec(digest: str) -> None:
    with pytest.raises(ValueError, match="is no digest"):
        Target("r.example.com", "os").digested(digest)
