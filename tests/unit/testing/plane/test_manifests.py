from pathlib import Path

import pytest

from windlass.testing.plane.manifests import read_manifests


def test_documents_of_files_and_folders_come_in_order_with_lists_opened(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("{apiVersion: v1, kind: B}\n---\n---\n{apiVersion: v1, kind: C}\n")
    (tmp_path / "a.yaml").write_text("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A}]}")
    (tmp_path / "notes.txt").write_text("not looked at")
    single = tmp_path / "single.json"
    single.write_text('{"apiVersion": "v1", "kind": "D"}')
    assert [one["kind"] for one in read_manifests([tmp_path, single])] == ["A", "B", "C", "D"]


def test_broken_yaml_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [1\nb: 2")
    with pytest.raises(ValueError, match=r"(?s)broken\.yaml is not YAML.*line 2"):
        list(read_manifests([tmp_path]))


def test_a_document_that_is_no_object_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("{apiVersion: v1, kind: A}\n---\njust: values\n")
    with pytest.raises(ValueError, match=r"values\.yaml, document 2: not a Kubernetes object"):
        list(read_manifests([tmp_path]))
