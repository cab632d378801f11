"""The CustomResourceDefinition around a schema."""

import json
from typing import Annotated, Any, ClassVar

import pytest
from msgspec import Meta, Struct

from windlass.api.meta import Condition, ObjectMeta, Resource, always
from windlass.api.schema import KEEP_UNKNOWN, list_map, rule
from windlass.kube.crd import AGE, Column, Scale, custom_resource_definition
from windlass.kube.crd.structural import SchemaError


class WidgetCondition(Struct, rename="camel"):
    type: str
    status: str


class WidgetStatus(Struct, rename="camel"):
    phase: str = ""
    replicas: int = 0
    conditions: Annotated[list[WidgetCondition], list_map("type")] = []
    details: Annotated[Condition | None, KEEP_UNKNOWN] = None


class WidgetSpec(Struct, rename="camel"):
    size: Annotated[int, Meta(ge=1)]
    replicas: int = 1


class Widget(Struct, rename="camel"):
    """Something with a size."""

    RESOURCE: ClassVar = Resource(group="example.org", version="v1alpha1", kind="Widget", plural="widgets")
    SCHEMA: ClassVar = (rule("self.metadata.name != 'all'", "no widget is called all"),)

    spec: WidgetSpec
    metadata: ObjectMeta = always(ObjectMeta)
    status: WidgetStatus = always(WidgetStatus)


class Setting(Struct, rename="camel"):
    RESOURCE: ClassVar = Resource(
        group="example.org", version="v1", kind="Setting", plural="settings", namespaced=False
    )

    api_version: str = "example.org/v1"
    kind: str = "Setting"
    metadata: ObjectMeta = always(ObjectMeta)
    value: str = ""


def test_the_whole_crd_of_a_widget() -> None:
    crd = custom_resource_definition(
        Widget,
        columns=[Column("Phase", ".status.phase", description="How far it is"), AGE],
        short_names=["wd"],
        categories=["all"],
        scale=Scale(),
        labels={"b": "2", "a": "1"},
    )
    version = crd["spec"]["versions"][0]
    schema = version.pop("schema")["openAPIV3Schema"]
    assert crd == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org", "labels": {"a": "1", "b": "2"}},
        "spec": {
            "group": "example.org",
            "names": {
                "kind": "Widget",
                "listKind": "WidgetList",
                "plural": "widgets",
                "singular": "widget",
                "shortNames": ["wd"],
                "categories": ["all"],
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [
                        {
                            "name": "Phase",
                            "type": "string",
                            "jsonPath": ".status.phase",
                            "description": "How far it is",
                        },
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                    ],
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                    },
                }
            ],
        },
    }
    assert list(schema) == ["description", "type", "properties", "required", "x-kubernetes-validations"]
    assert list(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert schema["required"] == ["spec"]
    assert schema["properties"]["metadata"] == {"type": "object"}
    assert schema["x-kubernetes-validations"] == [
        {"rule": "self.metadata.name != 'all'", "message": "no widget is called all"}
    ]


def test_a_kind_without_status_has_no_subresources_and_may_be_cluster_scoped() -> None:
    crd = custom_resource_definition(Setting)
    assert crd["spec"]["scope"] == "Cluster"
    assert "subresources" not in crd["spec"]["versions"][0]


def test_api_version_and_kind_belong_to_the_api_server_even_if_the_type_declares_them() -> None:
    properties = _schema(custom_resource_definition(Setting))["properties"]
    assert properties == {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "value": {"type": "string"},
    }


def test_the_same_type_gives_the_same_text_every_time() -> None:
    first, second = (json.dumps(custom_resource_definition(Widget, columns=[AGE])) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(".status.phaze", "Widget: column 'C' wants .status.phaze, but there is no field phaze", id="leaf"),
        pytest.param(".state.phase", "there is no field state", id="branch"),
        pytest.param("status.phase", "must begin with a dot", id="no dot"),
    ],
)
def test_a_column_of_a_field_that_does_not_exist_is_refused(path: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        custom_resource_definition(Widget, columns=[Column("C", path)])


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(r".metadata.labels.example\.org/zone", id="label"),
        pytest.param('.status.conditions[?(@.type=="Ready")].status', id="list item"),
        pytest.param(".status.details.unheardOf", id="below kept unknown fields"),
    ],
)
def test_a_column_may_show_what_a_schema_cannot_tell(path: str) -> None:
    crd = custom_resource_definition(Widget, columns=[Column("C", path, priority=1)])
    assert crd["spec"]["versions"][0]["additionalPrinterColumns"] == [
        {"name": "C", "type": "string", "jsonPath": path, "priority": 1}
    ]


def test_scale_paths_are_checked_too() -> None:
    with pytest.raises(SchemaError, match=r"labelSelectorPath wants \.status\.selector"):
        custom_resource_definition(Widget, scale=Scale(label_selector=".status.selector"))


def _schema(crd: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema
