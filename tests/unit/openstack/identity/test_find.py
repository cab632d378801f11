"""Finding credentials: Secrets, identities for several namespaces, and what is said when there are none."""

import base64
from typing import Any

import pytest

from windlass.api.capo import IdentityReference
from windlass.api.capo_identity import OpenStackClusterIdentity
from windlass.api.capo_server import OpenStackServer
from windlass.api.core import Namespace, Secret
from windlass.api.meta import K
from windlass.kube.control.seen import Seen
from windlass.kube.object import Object
from windlass.model import MemoryApi
from windlass.model.reader import MemoryReader
from windlass.openstack.cloud.credentials import Credentials
from windlass.openstack.identity.find import BY_NAME, IdentityTrouble, credentials_of
from windlass.openstack.identity.watches import BY_IDENTITY, BY_SECRET, identities, identity_watches, own_name, secrets

Tree = dict[str, Any]

CLOUDS = """
clouds:
  prod: {auth: {auth_url: 'https://cloud.example/v3', username: u, password: p}, region_name: one}
  test: {auth: {auth_url: 'https://test.example/v3', username: u, password: p}}
"""


def secret(name: str = "cloud", namespace: str = "ns", **data: str) -> Tree:
    encoded = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "data": encoded,
    }


def identity(selector: Tree | None = None, *, namespace: str = "vault") -> Tree:
    spec: Tree = {"secretRef": {"name": "cloud", "namespace": namespace}}
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackClusterIdentity",
        "metadata": {"name": "shared"},
        "spec": {**spec, **({"namespaceSelector": selector} if selector is not None else {})},
    }


def namespace(**labels: str) -> Tree:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "labels": labels}}


class Counting(MemoryReader):
    """Counts the Secrets that are read."""

    def __init__(self, *trees: Tree) -> None:
        super().__init__(MemoryApi(Secret, OpenStackClusterIdentity, Namespace, OpenStackServer))
        self.api.load(*trees)
        self.add_index(Secret, BY_NAME, own_name)
        self.add_index(OpenStackClusterIdentity, BY_SECRET, secrets)
        self.add_index(OpenStackServer, BY_IDENTITY, identities)
        self.secrets_read = 0

    async def see(
        self, kind: type[K], name: str, *, namespace: str | None = None, confirm: bool = False, live: bool = False
    ) -> Seen[K]:
        self.secrets_read += kind is Secret
        return await super().see(kind, name, namespace=namespace, confirm=confirm, live=live)


SECRET = IdentityReference(type="Secret", name="cloud", cloud_name="prod")
SHARED = IdentityReference(type="ClusterIdentity", name="shared", cloud_name="prod")


@pytest.mark.parametrize(
    ("ref", "trees"),
    [
        pytest.param(SECRET, [secret(clouds_yaml=CLOUDS)], id="Secret"),
        pytest.param(
            IdentityReference(name="cloud", cloud_name="prod"), [secret(clouds_yaml=CLOUDS)], id="type defaulted"
        ),
        pytest.param(SHARED, [identity(), secret(namespace="vault", clouds_yaml=CLOUDS)], id="no selector"),
        pytest.param(SHARED, [identity({}), secret(namespace="vault", clouds_yaml=CLOUDS)], id="empty selector"),
        pytest.param(
            SHARED,
            [
                identity({"matchLabels": {"team": "a"}}),
                namespace(team="a"),
                secret(namespace="vault", clouds_yaml=CLOUDS),
            ],
            id="labels match",
        ),
        pytest.param(
            SHARED,
            [
                identity({"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}),
                namespace(team="b"),
                secret(namespace="vault", clouds_yaml=CLOUDS),
            ],
            id="expression matches",
        ),
    ],
)
async def test_credentials_are_found(ref: IdentityReference, trees: list[Tree]) -> None:
    found = await credentials_of(Counting(*trees), ref, namespace="ns")
    assert isinstance(found, Credentials)
    assert found.cloud["auth"]["auth_url"] == "https://cloud.example/v3"


@pytest.mark.parametrize(
    ("ref", "trees", "text"),
    [
        pytest.param(SECRET, [], "Secret ns/cloud does not exist: create it with the key clouds.yaml", id="missing"),
        pytest.param(SECRET, [secret(other="x")], "Secret ns/cloud has no key clouds.yaml: add it", id="no key"),
        pytest.param(
            SECRET, [secret(clouds_yaml="a: [")], "clouds.yaml in Secret ns/cloud cannot be read", id="malformed"
        ),
        pytest.param(
            SECRET,
            [secret(clouds_yaml="{a: " * 30_000)],
            "clouds.yaml in Secret ns/cloud cannot be read: nested more than 200 levels deep in line 1",
            id="braces",
        ),
        pytest.param(
            SHARED,
            [identity(), secret(namespace="vault", clouds_yaml="- " * 60_000)],
            "clouds.yaml in Secret vault/cloud cannot be read: nested more than 200 levels deep in line 1",
            id="lists",
        ),
        pytest.param(
            SECRET,
            [{**secret(), "data": {"clouds.yaml": "é"}}],
            "Secret ns/cloud has a key clouds.yaml or cacert that is not text: correct it",
            id="no base64",
        ),
        pytest.param(
            IdentityReference(name="cloud", cloud_name=""),
            [secret(clouds_yaml=CLOUDS)],
            "cloud name is empty",
            id="cloudName empty",
        ),
        pytest.param(
            IdentityReference(name="cloud", cloud_name="dev"),
            [secret(clouds_yaml=CLOUDS)],
            "has no cloud 'dev'; it has: prod, test",
            id="cloudName unknown",
        ),
        pytest.param(
            SECRET, [secret(clouds_yaml=CLOUDS, cacert="not PEM")], "holds no certificate in PEM form", id="CA"
        ),
        pytest.param(SHARED, [], "OpenStackClusterIdentity shared does not exist", id="identity missing"),
        pytest.param(SHARED, [identity()], "Secret vault/cloud does not exist", id="Secret of the identity missing"),
        pytest.param(SHARED, [identity(namespace="")], "names no Secret", id="identity without a namespace"),
    ],
)
async def test_a_sentence_says_why_there_are_none(ref: IdentityReference, trees: list[Tree], text: str) -> None:
    found = await credentials_of(Counting(*trees), ref, namespace="ns")
    assert isinstance(found, IdentityTrouble)
    assert text in found.message


@pytest.mark.parametrize("cacert", ["\n", "  ", "# none\n"], ids=["newline", "spaces", "comment"])
@pytest.mark.parametrize("ref", [SECRET, SHARED], ids=["Secret", "ClusterIdentity"])
async def test_a_blank_ca_is_as_none_as_the_quick_start_of_the_provider_makes_it(
    ref: IdentityReference, cacert: str
) -> None:
    places = {"ns": SECRET, "vault": SHARED}
    [place] = [name for name, one in places.items() if one is ref]
    reader = Counting(identity(), secret(namespace=place, clouds_yaml=CLOUDS, cacert=cacert))
    found = await credentials_of(reader, ref, namespace="ns")
    assert isinstance(found, Credentials)
    assert found.cacert == ""


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param({"matchLabels": {"team": "a"}}, id="label"),
        pytest.param({"matchExpressions": [{"key": "team", "operator": "Exists"}]}, id="Exists"),
        pytest.param({"matchExpressions": [{"key": "other", "operator": "DoesNotExist"}]}, id="DoesNotExist"),
        pytest.param({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["x"]}]}, id="NotIn"),
        pytest.param({"matchExpressions": [{"key": "other", "operator": "Typo", "values": ["x"]}]}, id="unknown"),
    ],
)
async def test_an_identity_for_other_namespaces_is_denied(selector: Tree) -> None:
    reader = Counting(identity(selector), namespace(other="x"), secret(namespace="vault", clouds_yaml=CLOUDS))
    found = await credentials_of(reader, SHARED, namespace="ns")
    assert isinstance(found, IdentityTrouble)
    assert "OpenStackClusterIdentity shared is not for namespace ns" in found.message
    assert reader.secrets_read == 0


async def test_a_secret_is_read_again_only_when_it_has_changed() -> None:
    reader = Counting(secret(clouds_yaml=CLOUDS))
    first = await credentials_of(reader, SECRET, namespace="ns")
    assert await credentials_of(reader, SECRET, namespace="ns") is first
    assert reader.secrets_read == 1
    reader.api.load(secret(clouds_yaml=CLOUDS.replace("password: p", "password: q")))
    again = await credentials_of(reader, SECRET, namespace="ns")
    assert isinstance(again, Credentials)
    assert again.cloud["auth"]["password"] == "q"
    assert reader.secrets_read == 2


async def test_two_regions_of_one_cloud_are_two_credentials() -> None:
    reader = Counting(secret(clouds_yaml=CLOUDS))
    keys = set()
    for region in ("one", "two"):
        ref = IdentityReference(name="cloud", cloud_name="prod", region=region)
        found = await credentials_of(reader, ref, namespace="ns")
        assert isinstance(found, Credentials)
        keys.add((found.region, found.key))
    assert len(keys) == 2


def server(name: str, ref: Tree, *, place: str = "ns") -> Tree:
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "OpenStackServer",
        "metadata": {"name": name, "namespace": place},
        "spec": {"identityRef": {"cloudName": "prod", **ref}},
    }


@pytest.mark.parametrize(
    ("kind", "tree", "woken"),
    [
        (Secret, secret(), [("ns", "own")]),
        (Secret, secret(namespace="vault"), [("ns", "guest"), ("other", "guest")]),
        (Secret, secret(name="unrelated"), []),
        (OpenStackClusterIdentity, identity(), [("ns", "guest"), ("other", "guest")]),
        (Namespace, namespace(), [("ns", "guest")]),
    ],
    ids=["Secret", "Secret of an identity", "another Secret", "identity", "namespace"],
)
def test_a_change_of_credentials_wakes_the_objects_that_need_them(
    kind: type[Any], tree: Tree, woken: list[tuple[str, str]]
) -> None:
    shared = {"type": "ClusterIdentity", "name": "shared"}
    reader = Counting(
        identity(),
        server("own", {"name": "cloud"}),
        server("guest", shared),
        server("guest", shared, place="other"),
        server("no reference", {"name": ""}),
    )
    (watch,) = [watch for watch in identity_watches(reader, OpenStackServer) if watch.kind is kind]
    assert sorted(watch.map(Object.of(kind, tree))) == woken


def test_only_the_labels_of_a_namespace_wake_anything() -> None:
    (watch,) = [watch for watch in identity_watches(Counting(), OpenStackServer) if watch.kind is Namespace]
    old, same, other = (Object.of(Namespace, namespace(team=team)) for team in ("a", "a", "b"))
    assert not watch.when(old, same)
    assert watch.when(old, other)
