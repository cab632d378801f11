"""Alerts are read as Go decodes them: what can be read is kept, and one line says what cannot."""

import json
from typing import Any

import pytest

from windlass.update_status.reading.alerts import alerts_of_rules, read_alerts

BEGINNING = "Ignoring alerts in 'Update Health'. Error unmarshaling alerts: %w "


def _alert(name: str, **fields: Any) -> dict[str, Any]:
    return {"labels": {"alertname": name}, "state": "firing", "activeAt": "2024-02-27T15:00:00.5Z", **fields}


def _answer(*alerts: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"alerts": alerts}}).encode()


def test_an_alert_has_what_prometheus_says() -> None:
    labels = {"alertname": "A", "namespace": "n", "severity": "critical", "pod": "p"}
    annotations = {"summary": "s", "description": "d", "message": "m", "runbook_url": "https://example.com"}

    (alert,), trouble = read_alerts(_answer(_alert("", labels=labels, annotations=annotations, value="1e+00")))

    assert trouble == ""
    assert (alert.labels.alertname, alert.labels.namespace, alert.labels.severity) == ("A", "n", "critical")
    assert (alert.annotations.summary, alert.annotations.description) == ("s", "d")
    assert (alert.annotations.message, alert.annotations.runbook_url) == ("m", "https://example.com")
    assert (alert.state, alert.active_at) == ("firing", "2024-02-27T15:00:00.5Z")


def test_what_came_before_a_malformed_time_is_kept() -> None:
    late = {**_alert("B"), "activeAt": "soon", "annotations": {"summary": "not reached"}}

    (first, second), trouble = read_alerts(_answer(_alert("A"), late, _alert("C")))

    assert first.active_at is not None
    assert (second.labels.alertname, second.active_at, second.annotations.summary) == ("B", None, "")
    assert trouble.startswith(f"{BEGINNING}data.alerts[1].activeAt: 'soon' is not a time")


@pytest.mark.parametrize("time", ["", 5, ["2024-02-27T15:00:00Z"]])
def test_a_time_of_a_wrong_type_is_malformed(time: Any) -> None:
    (alert,), trouble = read_alerts(_answer(_alert("A", activeAt=time)))

    assert alert.active_at is None
    assert trouble.startswith(f"{BEGINNING}data.alerts[0].activeAt: ")


def test_a_field_of_a_wrong_type_is_left_out_and_the_rest_is_read() -> None:
    odd = _alert("A", labels={"alertname": "A", "severity": 3, "namespace": "n"}, annotations="none")

    (first, second), trouble = read_alerts(_answer(odd, _alert("B")))

    assert (first.labels.alertname, first.labels.severity, first.labels.namespace) == ("A", "", "n")
    assert first.annotations.summary == ""
    assert second.labels.alertname == "B"
    assert trouble == f"{BEGINNING}data.alerts[0].labels.severity: expected a string, found 3"


def test_half_of_a_surrogate_pair_is_replaced_for_it_cannot_be_printed() -> None:
    body = _answer(_alert("A", annotations={"summary": "\ud800!"}))

    (alert,), trouble = read_alerts(body)

    assert (alert.annotations.summary, trouble) == ("\ufffd!", "")


def test_nulls_are_absent() -> None:
    (first, second), trouble = read_alerts(_answer(None, _alert("A", activeAt=None, annotations=None)))

    assert (first.labels.alertname, second.labels.alertname, second.active_at, trouble) == ("", "A", None, "")


@pytest.mark.parametrize("body", [b"", b"<html>", b"{", b'{"data": NaN}', b"\xff", b"[" * 100_000])
def test_of_what_is_no_json_nothing_is_read(body: bytes) -> None:
    alerts, trouble = read_alerts(body)

    assert alerts == ()
    assert trouble.startswith(BEGINNING)


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"data": null}', b'{"data": {"alerts": null}}'])
def test_an_answer_without_alerts_is_no_trouble(body: bytes) -> None:
    assert read_alerts(body) == ((), "")


@pytest.mark.parametrize("body", [b"3", b'{"data": []}', b'{"data": {"alerts": {}}}'])
def test_an_answer_of_another_form_is_trouble(body: bytes) -> None:
    alerts, trouble = read_alerts(body)

    assert alerts == ()
    assert trouble.startswith(BEGINNING)


def test_rules_have_alerts_too() -> None:
    rules = [{"type": "alerting", "alerts": [_alert("A")]}, {"type": "recording"}, {"alerts": [_alert("B")]}]

    found = alerts_of_rules({"data": {"groups": [{"rules": rules}, {"rules": None}, None]}})

    assert [alert.labels.alertname for alert in found] == ["A", "B"]
