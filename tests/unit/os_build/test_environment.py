"""The environment of a build: what the ControllerConfig, the options and the cluster's objects make of it."""

from typing import Any

import pytest

from tests.unit.os_build.certificates import encoded, pem
from windlass.api.machineconfiguration import ControllerConfig, ControllerConfigSpec, ImageRegistryBundle, Proxy
from windlass.os_build.environment import (
    Egress,
    Environment,
    Lent,
    certificates,
    certificates_in,
    egress_of,
    lent,
    variables,
)

PROXY = Proxy(http_proxy="http://p:1", https_proxy="http://p:2", no_proxy=".svc,10.0.0.0/8")
OPTIONS = Egress(proxy=Proxy(https_proxy="http://option:3"), trust_bundle=pem("option"), authorities=pem("registries"))


def config(**spec: Any) -> ControllerConfig:
    return ControllerConfig(spec=ControllerConfigSpec(**spec))


def test_without_a_controller_config_the_options_count() -> None:
    assert egress_of(None, options=OPTIONS) == OPTIONS


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, OPTIONS, id="it says nothing"),
        pytest.param({"proxy": Proxy(), "additional_trust_bundle": ""}, OPTIONS, id="it says nothing in words"),
        pytest.param(
            {"proxy": PROXY},
            Egress(proxy=PROXY, trust_bundle=pem("option"), authorities=pem("registries")),
            id="a proxy: nothing of that of the options is left",
        ),
        pytest.param(
            {"additional_trust_bundle": encoded("# corporate\n" + pem("a") + "\n\n" + pem("b"))},
            Egress(proxy=OPTIONS.proxy, trust_bundle=pem("a") + pem("b"), authorities=pem("registries")),
            id="a trust bundle, without comments",
        ),
        pytest.param(
            {
                "image_registry_bundle_data": [
                    ImageRegistryBundle(file="image-registry.svc..5000", data=encoded(pem("cluster"))),
                    ImageRegistryBundle(file="r.example.com", data=encoded(pem("cluster"))),
                ],
                "image_registry_bundle_user_data": [
                    ImageRegistryBundle(file="r.example.com", data=encoded(pem("user")))
                ],
            },
            Egress(
                proxy=OPTIONS.proxy,
                trust_bundle=pem("option"),
                authorities=pem("registries"),
                registries=(("image-registry.svc:5000", pem("cluster")), ("r.example.com", pem("user"))),
            ),
            id="CAs of registries: the user's win, and two dots are a colon",
        ),
    ],
)
def test_the_controller_config_comes_before_the_options(spec: dict[str, Any], expected: Egress) -> None:
    assert egress_of(config(**spec), options=OPTIONS) == expected


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        pytest.param(
            {"additional_trust_bundle": "%%%"},
            "^ControllerConfig machine-config-controller: spec.additionalTrustBundle: it is not the base64 of text: ",
            id="no base64",
        ),
        pytest.param(
            {"additional_trust_bundle": encoded("nothing")},
            "spec.additionalTrustBundle: it holds no certificate in PEM: .* that spec.trustedCA of Proxy cluster",
            id="no PEM",
        ),
        pytest.param(
            {"image_registry_bundle_user_data": [ImageRegistryBundle(file="r..5000", data=encoded("x"))]},
            r"spec.imageRegistryBundleUserData r..5000: .* that additionalTrustedCA of Image cluster names",
            id="of a registry",
        ),
    ],
)
def test_a_bundle_that_is_none_is_refused_with_its_field_and_the_remedy(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        egress_of(config(**spec), options=Egress())


def test_a_proxy_is_told_in_both_spellings_and_what_is_empty_is_not() -> None:
    assert variables(Proxy(https_proxy="http://p", no_proxy="x")) == {
        "HTTPS_PROXY": "http://p",
        "NO_PROXY": "x",
        "https_proxy": "http://p",
        "no_proxy": "x",
    }
    assert variables(Proxy()) == {}


@pytest.mark.parametrize(
    ("proxy", "shown"),
    [
        ("http://p:3128", "http://p:3128"),
        ("http://user:pa@ss@p:3128/", "http://***@p:3128/"),
        ("user:secret@p:3128", "***@p:3128"),
        ("", ""),
    ],
)
def test_the_password_of_a_proxy_is_not_shown(proxy: str, shown: str) -> None:
    assert Egress(proxy=Proxy(https_proxy=proxy)).shown_proxy == shown


ENTITLEMENT, SHARED = ("Secret", "etc-pki-entitlement-worker"), ("Secret", "etc-pki-entitlement")
REPOSITORIES, KEYS = ("ConfigMap", "etc-yum-repos-d"), ("Secret", "etc-pki-rpm-gpg")


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([SHARED], [("/etc/pki/entitlement", *SHARED)], id="an entitlement for all pools"),
        pytest.param([SHARED, ENTITLEMENT], [("/etc/pki/entitlement", *ENTITLEMENT)], id="the pool's own wins"),
        pytest.param(
            [REPOSITORIES, KEYS], [("/etc/yum.repos.d", *REPOSITORIES), ("/etc/pki/rpm-gpg", *KEYS)], id="Satellite"
        ),
        pytest.param([("ConfigMap", "etc-pki-entitlement"), ("Secret", "etc-yum-repos-d")], [], id="of another kind"),
        pytest.param([("Secret", "etc-pki-entitlement-master")], [], id="of another pool"),
    ],
)
def test_what_exists_by_the_operators_names_is_lent(there: list[Any], expected: list[Any]) -> None:
    assert lent("worker", lambda kind, name: (kind, name) in there) == tuple(Lent(*each) for each in expected)


def test_certificates_of_a_registry_in_the_machine_config_win() -> None:
    egress = Egress(registries=(("r:5000", "cluster"), ("s", "cluster")))
    containers = {"certs.d/r:5000/ca.crt": b"machine config", "certs.d/r:5000/client.cert": b"", "policy.json": b"{}"}
    assert Environment(egress=egress, containers=containers).certificates == {
        "certs.d/r:5000/ca.crt": b"machine config",
        "certs.d/r:5000/client.cert": b"",
        "certs.d/s/ca.crt": b"cluster",
    }


def test_certificates_are_read_from_a_file_or_from_the_crt_files_of_a_folder(tmp_path: Any) -> None:
    (tmp_path / "b.crt").write_text(pem("b"))
    (tmp_path / "a.crt").write_text(f"text before\n{pem('a')}")
    (tmp_path / "key.pem").write_text("a key")
    assert certificates_in(tmp_path) == pem("a") + pem("b")
    assert certificates_in(tmp_path / "b.crt") == pem("b")
    with pytest.raises(ValueError, match="no certificate"):
        certificates_in(tmp_path / "key.pem")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"the folder has no file \*\.crt"):
        certificates_in(tmp_path / "empty")
    with pytest.raises(ValueError, match="no certificate"):
        certificates("-----BEGIN CERTIFICATE-----\n")
