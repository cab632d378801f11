"""Generated CRDs on the real API server: it takes them under strict validation, and enforces what the types say."""

import enum
import uuid
from collections.abc import Iterator
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import Meta, Raw, Struct, field

from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import (
    DATE_TIME,
    KEEP_UNKNOWN,
    LIST_ATOMIC,
    LIST_SET,
    MAP_ATOMIC,
    NULLABLE,
    OBJECT,
    REQUIRED,
    Int32,
    list_map,
    rule,
    server_default,
)
from windlass.kube.crd import AGE, Column, Scale, custom_resource_definition
from windlass.testing.plane.access import BlockingAccess
from windlass.testing.plane.errors import Refused
from windlass.testing.plane.facade import PlaneAccess
from windlass.testing.plane.rest import APPLY_PATCH, MERGE_PATCH

pytestmark = pytest.mark.plane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = f"generated-{uuid.uuid4().hex[:8]}.example.org"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Part(Struct, rename="camel"):
    name: Annotated[str, Meta(max_length=63)]
    count: Annotated[int, Meta(ge=0)] = 0


class Owner(Struct, rename="camel"):
    name: Annotated[str, REQUIRED] = always(str)
    uid: Annotated[str, REQUIRED] = always(str)


class Everything(Struct, rename="camel"):
    """One field of each sort."""

    SCHEMA: ClassVar = (
        rule("!has(self.low) || !has(self.high) || self.low <= self.high", "low must not be above high"),
    )

    size: Annotated[int, Meta(gt=0, le=100)]
    low: int | None = None
    high: int | None = None
    small: Int32 = 0
    ratio: Annotated[float, Meta(gt=0, lt=1)] | None = None
    replicas: Annotated[int, server_default(2)] = 2
    enabled: bool = False
    percent: int | Annotated[str, Meta(pattern="^[0-9]+%$")] | None = None
    colour: Colour | None = None
    mode: Literal["Fast", "Safe"] | None = None
    level: Literal[1, 2] | None = None
    frozen: Annotated[str, Meta(max_length=20), rule("self == oldSelf", "frozen may not change")] | None = None
    since: Annotated[str, DATE_TIME] | None = None
    until: datetime | None = None
    day: date | None = None
    ident: uuid.UUID | None = None
    blob: bytes = b""
    note: Annotated[str, NULLABLE] | None = None
    parts: Annotated[list[Part], list_map("name"), Meta(max_length=8)] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    tags: Annotated[list[str], LIST_SET] = field(default_factory=list)
    zones: set[str] = field(default_factory=set)
    order: Annotated[list[str], LIST_ATOMIC] = field(default_factory=list)
    owner: Annotated[Owner, MAP_ATOMIC] | None = None
    open: dict[str, Any] = field(default_factory=dict)
    open_object: Annotated[Raw, OBJECT] = Raw(b"")
    anything: Any = None
    mixed: Annotated[Part, KEEP_UNKNOWN] | None = None


class Status(Struct, rename="camel"):
    phase: str = ""
    replicas: int = 0
    conditions: Annotated[list[Condition], LIST_ATOMIC] = field(default_factory=list)


class Widget(Struct, rename="camel"):
    """Everything that a type can say."""

    RESOURCE: ClassVar = Resource(group=GROUP, version="v1", kind="Widget", plural="widgets")
    SCHEMA: ClassVar = (rule("self.metadata.name != 'forbidden'", "no widget is called forbidden"),)

    spec: Everything
    metadata: ObjectMeta = always(ObjectMeta)
    status: Status = always(Status)


@pytest.fixture(scope="module")
def plane(windlass_plane: PlaneAccess) -> Iterator[BlockingAccess]:
    plane = windlass_plane.blocking
    crd = custom_resource_definition(
        Widget,
        columns=[Column("Phase", ".status.phase"), Column("Size", ".spec.size", type="integer", priority=1), AGE],
        short_names=["wdg"],
        categories=["windlass"],
        scale=Scale(),
    )
    plane.rest.request("POST", f"{CRDS}?fieldValidation=Strict&dryRun=All", crd)
    plane.apply_crds(crd)
    yield plane
    plane.rest.request("DELETE", f"{CRDS}/{Widget.RESOURCE.name}")


class Widgets:
    def __init__(self, plane: BlockingAccess, *, namespace: str) -> None:
        self._rest = plane.rest
        self._path = Widget.RESOURCE.path(namespace=namespace)

    def create(self, name: str = "w", **spec: Any) -> dict[str, Any]:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 1} | spec}
        created: dict[str, Any] = self._rest.request("POST", f"{self._path}?fieldValidation=Strict", body)
        return created

    def patch(self, **spec: Any) -> dict[str, Any]:
        patched: dict[str, Any] = self._rest.request(
            "PATCH", f"{self._path}/w?fieldValidation=Strict", {"spec": spec}, content_type=MERGE_PATCH
        )
        return patched

    def apply(self, manager: str, **spec: Any) -> dict[str, Any]:
        applied: dict[str, Any] = self._rest.request(
            "PATCH",
            f"{self._path}/w?fieldManager={manager}&fieldValidation=Strict",
            {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec},
            content_type=APPLY_PATCH,
        )
        return applied

    def get(self, subresource: str) -> dict[str, Any]:
        found: dict[str, Any] = self._rest.request("GET", f"{self._path}/w/{subresource}")
        return found


@pytest.fixture
def widgets(plane: BlockingAccess, windlass_namespace: str) -> Widgets:
    return Widgets(plane, namespace=windlass_namespace)


@pytest.mark.parametrize(
    "spec",
    [
        {"size": 100},
        {"low": 1, "high": 1},
        {"small": 2**31 - 1},
        {"ratio": 0.5},
        {"percent": 3},
        {"percent": "3%"},
        {"colour": "red"},
        {"mode": "Safe"},
        {"level": 2},
        {"since": "2026-01-02T03:04:05Z", "until": "2026-01-02T03:04:05Z", "day": "2026-01-02"},
        {"ident": "3fa85f64-5717-4562-b3fc-2c963f66afa6"},
        {"blob": "aGVsbG8="},
        {"note": None},
        {"parts": [{"name": "a"}, {"name": "b", "count": 2}]},
        {"labels": {"a": "b"}, "tags": ["a", "b"], "zones": ["z"], "order": ["a", "a"]},
        {"owner": {"name": "a", "uid": "b"}},
        {"open": {"a": [1, {"b": None}]}, "openObject": {"c": 1}, "anything": [1, "two"]},
        {"anything": "text"},
        {"mixed": {"name": "a", "fromTheFuture": True}},
    ],
    ids=lambda spec: "+".join(f"{key}={value}" for key, value in spec.items())[:60],
)
def test_what_the_type_allows_is_stored_whole(widgets: Widgets, spec: dict[str, Any]) -> None:
    stored = widgets.create(**spec)["spec"]
    assert {key: stored[key] for key in spec} == spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"size": 0}, "should be greater than 0"),
        ({"size": 101}, "should be less than or equal to 100"),
        ({"size": None}, "spec.size: Required value"),
        ({"low": 2, "high": 1}, "low must not be above high"),
        ({"small": 2**31}, "spec.small"),
        ({"ratio": 1}, "should be less than 1"),
        ({"percent": "many"}, "spec.percent"),
        ({"percent": 1.5}, "spec.percent"),
        ({"colour": "green"}, 'supported values: "red", "blue"'),
        ({"mode": "Other"}, 'supported values: "Fast", "Safe"'),
        ({"level": 3}, "spec.level"),
        ({"since": "yesterday"}, "must be of type date-time"),
        ({"day": "2026-13-01"}, "must be of type date"),
        ({"blob": "no base64!"}, "must be of type byte"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "Duplicate value"),
        ({"parts": [{"count": 1}]}, "spec.parts[0].name: Required value"),
        ({"parts": [{"name": str(n)} for n in range(9)]}, "must have at most 8 items"),
        ({"tags": ["a", "a"]}, "Duplicate value"),
        ({"zones": ["a", "a"]}, "Duplicate value"),
        ({"owner": {"name": "a"}}, "spec.owner.uid: Required value"),
        ({"labels": {"a": 1}}, "spec.labels.a"),
        ({"open": []}, "spec.open"),
        ({"openObject": "text"}, "spec.openObject"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_the_type_forbids_is_refused(widgets: Widgets, spec: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        widgets.create(**spec)
    assert refused.value.status == 422
    assert message in str(refused.value)


def test_a_field_that_the_type_does_not_declare_is_refused_under_strict_validation(widgets: Widgets) -> None:
    with pytest.raises(Refused, match=r'unknown field \\?"spec.sizes\\?"') as refused:
        widgets.create(sizes=1)
    assert refused.value.status == 400


def test_only_what_is_asked_for_is_defaulted(widgets: Widgets) -> None:
    assert widgets.create()["spec"] == {"size": 1, "replicas": 2}


def test_a_rule_about_the_old_value_holds_on_update_only(widgets: Widgets) -> None:
    widgets.create(frozen="a")
    assert widgets.patch(size=2)["spec"]["frozen"] == "a"
    with pytest.raises(Refused, match="frozen may not change"):
        widgets.patch(frozen="b")


def test_a_rule_of_the_whole_object_holds(widgets: Widgets) -> None:
    with pytest.raises(Refused, match="no widget is called forbidden"):
        widgets.create("forbidden")


def test_list_types_decide_what_two_appliers_share(widgets: Widgets) -> None:
    widgets.apply("one", size=1, parts=[{"name": "a"}], tags=["x"])
    both = widgets.apply("two", parts=[{"name": "b"}], tags=["y"])["spec"]
    assert [part["name"] for part in both["parts"]] == ["a", "b"]
    assert both["tags"] == ["x", "y"]
    widgets.apply("one", size=1, order=["p"])
    with pytest.raises(Refused, match="conflict") as refused:
        widgets.apply("two", order=["q"])
    assert refused.value.status == 409


def test_status_and_scale_are_subresources(widgets: Widgets) -> None:
    widgets.create(replicas=4)
    assert widgets.get("scale")["spec"] == {"replicas": 4}
    assert "status" not in widgets.get("status")
