"""Credentials from the text of a Secret, and from a user's own clouds.yaml."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.explore import examples
from tests.unit.kube.client.tls import AUTHORITY
from windlass.openstack.cloud.credentials import Credentials, of_user, read
from windlass.openstack.cloud.failures import Unauthenticated

CA = AUTHORITY.decode()
GOOD = """
clouds:
  prod: {auth: {auth_url: "https://cloud:5000/v3", username: u, password: p}, region_name: one}
  test: {auth: {auth_url: "https://test:5000/v3"}}
  bare: {region_name: one}
  flat: {auth: {username: u}}
  text: nonsense
"""
SECRET = "Secret prod/cloud-credentials"
UNREADABLE = f"identity: clouds.yaml in {SECRET} cannot be read: "
ODD = "clouds: {{prod: {{auth: {{auth_url: u}}, odd: {}}}}}"
LAUGHS = "\n".join(
    ["a0: &a0 [aaaaaaaaaa, aaaaaaaaaa]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    + [ODD.format("*a8")]
)
"""585 bytes of 2 * 10^8 values."""


def test_an_entry_is_taken_as_it_is() -> None:
    credentials = read(GOOD, "prod", where=SECRET, region="two", cacert=CA)
    assert credentials.cloud["auth"]["username"] == "u"
    assert (credentials.region, credentials.cacert, credentials.where) == ("two", CA, SECRET)


@pytest.mark.parametrize(
    ("text", "name", "cacert", "message"),
    [
        (GOOD, "", "", "identity: the cloud name is empty: set identityRef.cloudName to an entry of clouds.yaml"),
        (
            GOOD,
            "Prod",
            "",
            f"identity: clouds.yaml in {SECRET} has no cloud 'Prod'; it has: bare, flat, prod, test, text",
        ),
        ("clouds: {}", "prod", "", f"identity: clouds.yaml in {SECRET} has no cloud 'prod'; it has: none"),
        ("", "prod", "", f"identity: clouds.yaml in {SECRET} has no mapping `clouds`"),
        ("clouds: [prod]", "prod", "", f"identity: clouds.yaml in {SECRET} has no mapping `clouds`"),
        ("- clouds", "prod", "", f"identity: clouds.yaml in {SECRET} has no mapping `clouds`"),
        ("{clouds: ", "prod", "", f"identity: clouds.yaml in {SECRET} cannot be read: "),
        ("\0", "prod", "", f"identity: clouds.yaml in {SECRET} cannot be read: "),
        ("!!python/object:os.system {}", "prod", "", f"identity: clouds.yaml in {SECRET} cannot be read: "),
        (GOOD, "text", "", f"identity: clouds.text in clouds.yaml of {SECRET} is not a mapping"),
        (GOOD, "bare", "", f"identity: clouds.bare in clouds.yaml of {SECRET} has no auth.auth_url"),
        (GOOD, "flat", "", f"identity: clouds.flat in clouds.yaml of {SECRET} has no auth.auth_url"),
        (GOOD, "prod", "nonsense", f"identity: the key cacert of {SECRET} holds no certificate in PEM form"),
        (GOOD, "prod", CA[: len(CA) // 2], f"identity: the key cacert of {SECRET} holds no certificate in PEM form"),
        (
            "[" * 300,
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: nested more than 200 levels deep",
        ),
        (
            "- " * 60_000,
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: nested more than 200 levels deep",
        ),
        (
            "{a: " * 30_000,
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: nested more than 200 levels",
        ),
        (
            "x" * 2**20,
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: it has more than 128 KiB: correct",
        ),
        (
            LAUGHS,
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: its aliases expand to more than 128 KiB",
        ),
        (
            ODD.format("&a [*a]"),
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: an alias stands inside",
        ),
        (
            ODD.format("1" * 5000),
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} cannot be read: a number of more than",
        ),
        (ODD.format("!!bool x"), "prod", "", UNREADABLE + "the value is not of"),
        (
            ODD.format("{null: x}"),
            "prod",
            "",
            f"identity: clouds.prod in clouds.yaml of {SECRET} has a key that is no text: put it in quotes",
        ),
        ("? \n" * 2501, "prod", "", UNREADABLE + "it has more than 5000 values in line 2501, column 1: correct it"),
        (
            GOOD,
            "prod",
            "#\n" * 2**18,
            f"identity: the key cacert of {SECRET} has more than 256 KiB: keep only the CAs of",
        ),
        (
            'clouds: {"\\e[31m": {}}',
            "prod",
            "",
            f"identity: clouds.yaml in {SECRET} has no cloud 'prod'; it has: \\x1b[31m",
        ),
        (GOOD, "prod", "ä", f"identity: the key cacert of {SECRET} holds no certificate in PEM form"),
    ],
)
def test_what_is_wrong_is_said_with_place_field_and_remedy(text: str, name: str, cacert: str, message: str) -> None:
    with pytest.raises(Unauthenticated) as refused:
        read(text, name, where=SECRET, cacert=cacert)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


WORST = [
    "? \n",
    "- [" + "[" * 190 + "]" * 190 + "]\n",
    "- !!set {a, b}\n",
    "- !!omap [a: b]\n",
    "- 1" + ":59" * 300 + "\n",
    "- &a [x]\n- *a\n",
    "- 2001-12-14t21:59:43.10-05:00\n",
    "- ~\n",
    "#\n",
]


@pytest.mark.parametrize("line", WORST)
def test_the_worst_clouds_yaml_keeps_nobody_waiting(line: str) -> None:
    text = line * (128 * 2**10 // len(line))
    seconds = []
    for _ in range(3):
        began = time.process_time()
        with suppress(Unauthenticated):
            read(text, "prod", where=SECRET)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 0.15, "50 ms on a quiet machine"


scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes()
)
anything = st.recursive(
    scalars, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text() | st.integers(), one, max_size=3)
)
fields = st.sampled_from(["auth", "auth_type", "verify", "cert", "region_name", "x"])


@given(entry=st.dictionaries(fields, anything), auth=st.dictionaries(st.text(), anything), name=st.text())
@examples()
def test_any_entry_is_taken_or_refused_in_one_line_of_printable_text(
    entry: dict[str, Any], auth: dict[str, Any], name: str
) -> None:
    text = yaml.safe_dump({"clouds": {name: {"auth": {"auth_url": "u", **auth}, **entry}}})
    told = ""
    try:
        key = read(text, name, where=SECRET).key
    except Unauthenticated as refused:
        key, told = "0" * 64, str(refused)
    assert len(key) == 64
    assert told.isprintable()


@given(st.text(alphabet="ab1:.-_ \n'\"[]{}?&*!%#|>~=<é\x85", max_size=60))
@examples()
def test_any_text_is_taken_or_refused(text: str) -> None:
    for whole in (text, f"clouds: {{prod: {{auth: {{auth_url: u}}, odd: {text}}}}}"):
        with suppress(Unauthenticated):
            read(whole, "prod", where=SECRET)


def test_a_ca_may_have_comments_in_any_language() -> None:
    assert read(GOOD, "prod", where=SECRET, cacert=f"# für Zürich\n{CA}").cacert.endswith(CA)


@pytest.mark.parametrize("cacert", ["", "\n", " \n\t\n", "# no CA here\n\n# für niemanden\n"])
def test_a_blank_ca_is_none(cacert: str) -> None:
    assert read(GOOD, "prod", where=SECRET, cacert=cacert).cacert == ""


def test_of_very_many_clouds_some_are_named() -> None:
    many = f"clouds: {{{', '.join(f'cloud-{n}: x' for n in range(2400))}}}"
    with pytest.raises(Unauthenticated, match=r"it has: cloud-0, cloud-1, .* more characters") as refused:
        read(many, "prod", where=SECRET)
    assert len(str(refused.value)) < 1000


def credentials(*, where: str = SECRET, region: str = "", cacert: str = "", **entry: Any) -> Credentials:
    return Credentials({"auth": {"auth_url": "https://cloud", "password": "p"}, **entry}, "prod", region, cacert, where)


def test_the_key_differs_for_another_user_region_or_ca_and_for_nothing_else() -> None:
    variants = [
        credentials(),
        credentials(region="two"),
        credentials(region_name="two"),
        credentials(cacert=CA),
        credentials(verify=False),
        credentials(auth={"auth_url": "https://cloud", "password": "q"}),
    ]
    assert len({each.key for each in variants}) == len(variants)
    turned = Credentials({"auth": {"password": "p", "auth_url": "https://cloud"}}, "other name")
    assert turned.key == credentials(where="another Secret").key == credentials().key


def test_values_that_only_yaml_has_are_part_of_the_key() -> None:
    text = "clouds: {prod: {auth: {auth_url: u, expires: 2026-01-01, 1: x, b: !!binary aGk=}}}"
    assert len(read(text, "prod", where=SECRET).key) == 64


CLOUDS = 'clouds: {mine: {auth: {auth_url: "http://cloud:5000/v3", username: u, password: p}, region_name: one}}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any clouds.yaml, but with variables that must not leak in."""
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("OS_USERNAME", "somebody-else")
    monkeypatch.setenv("OS_PASSWORD", "another")
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
@pytest.mark.parametrize("place", ["variable", "folder"])
def test_a_users_clouds_yaml_is_found_where_openstacksdk_finds_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    file = home / ("clouds.yaml" if place == "folder" else "elsewhere.yaml")
    file.write_text(CLOUDS)
    if place == "variable":
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    found = of_user("mine")
    assert found.cloud["auth"]["username"] == "u"
    assert (found.region, found.where) == ("one", "your clouds.yaml")
    assert len(found.key) == 64


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
def test_the_ca_file_of_a_users_cloud_is_read(home: Path) -> None:
    (home / "ca.pem").write_text(CA)
    (home / "clouds.yaml").write_text(CLOUDS.replace("region_name: one", f"cacert: {home}/ca.pem"))
    assert of_user("mine").cacert == CA


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
@pytest.mark.parametrize("content", ["\n", "# für später\n"])
def test_a_users_ca_that_is_blank_is_none(home: Path, content: str) -> None:
    (home / "ca.pem").write_bytes(content.encode("latin-1"))
    (home / "clouds.yaml").write_text(CLOUDS.replace("region_name: one", f"cacert: {home}/ca.pem"))
    assert of_user("mine").cacert == ""
    (home / "clouds.yaml").write_text(CLOUDS.replace("region_name: one", "cacert: ' '"))
    assert of_user("mine").cacert == ""


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
def test_a_users_ca_that_is_no_text_is_refused(home: Path) -> None:
    (home / "ca.der").write_bytes(b"\xff\xfe")
    (home / "clouds.yaml").write_text(CLOUDS.replace("region_name: one", f"cacert: {home}/ca.der"))
    with pytest.raises(Unauthenticated, match=r"ca\.der holds no certificate in PEM form"):
        of_user("mine")


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "cloud 'mine' of your clouds.yaml"),
        ("clouds: {other: {}}", "cloud 'mine' of your clouds.yaml"),
        ("{clouds: ", "cloud 'mine' of your clouds.yaml"),
        (CLOUDS.replace("region_name: one", "cacert: /nowhere/ca.pem"), "the cacert of cloud 'mine'"),
    ],
    ids=["nothing", "another cloud", "not YAML", "no CA file"],
)
def test_a_users_cloud_that_cannot_be_used_is_said(home: Path, text: str, part: str) -> None:
    (home / "clouds.yaml").write_text(text)
    with pytest.raises(Unauthenticated, match=part):
        of_user("mine")


@pytest.mark.parametrize(
    "text",
    [
        "clouds: {prod: {auth: {password: hunter2]}}",
        'clouds: {a: "hunter2',
        "a: hunter2: b",
        "{password: !hunter2 x}",
        "{password: *hunter2}",
    ],
)
def test_the_message_about_a_line_that_is_no_yaml_does_not_quote_it(text: str) -> None:
    with pytest.raises(Unauthenticated, match=r"cannot be read: .* in line 1, column") as refused:
        read(text, "prod", where=SECRET)
    assert "hunter2" not in str(refused.value)
