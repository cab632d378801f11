"""Field errors have the texts of Kubernetes' own."""

import pytest

from windlass.machine_sync.conversion.field_errors import (
    FieldError,
    Findings,
    aggregate,
    dropped,
    internal,
    invalid,
    invalid_json,
    required,
    too_many,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (invalid("spec.a", "x\ty", "no"), r'spec.a: Invalid value: "x\ty": no'),
        (invalid("spec.a", "<", "no"), 'spec.a: Invalid value: "<": no'),
        (invalid("spec.a", -5, "no"), "spec.a: Invalid value: -5: no"),
        (invalid("spec.a", True, "no"), "spec.a: Invalid value: true: no"),
        (invalid("spec.a", "", ""), 'spec.a: Invalid value: ""'),
        (invalid_json("spec.a", "<", "no"), r'spec.a: Invalid value: "\u003c": no'),
        (invalid_json("spec.a", None, "no"), "spec.a: Invalid value: null: no"),
        (invalid_json("spec.a", ["b"], "no"), 'spec.a: Invalid value: ["b"]: no'),
        (required("spec.a", "say it"), "spec.a: Required value: say it"),
        (too_many("spec.a", 3, 1), "spec.a: Too many: 3: must have at most 1 item"),
        (too_many("spec.a", 3, 2), "spec.a: Too many: 3: must have at most 2 items"),
        (
            dropped("spec.a.b", "<", by="T"),
            r'spec.a.b: Invalid value: "\u003c": b has no equivalent in T and is dropped',
        ),
        (internal("spec.a", "broken"), "spec.a: Internal error: broken"),
    ],
)
def test_an_error_reads_as_kubernetes_prints_it(error: FieldError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "[a, b]"),
        (["a", "b", "a", "c", "b"], "[a, b, c]"),
        (["a", "a"], "a"),
    ],
)
def test_several_errors_are_one_text_without_repetition(texts: list[str], joined: str) -> None:
    assert aggregate(texts) == joined


def test_findings_are_of_their_own() -> None:
    Findings().lose("spec.a", 1)
    found = Findings()
    found.lose("spec.a", False, by="the Machine API")
    assert [str(loss) for loss in found.losses] == [
        "spec.a: Invalid value: false: a has no equivalent in the Machine API and is dropped"
    ]
    assert (found.errors, found.warnings) == ([], [])
