"""`windlass os-build render` and what `build` says before it builds."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.os_build.certificates import encoded, pem
from windlass.capability.conventions.exit_codes import Exit
from windlass.cli.program import run
from windlass.os_build.cli.from_files import Wrong, inputs
from windlass.os_build.cli.given import Choices
from windlass.os_build.environment import BUNDLE
from windlass.os_build.inputs.image_mode import LINT
from windlass.os_build.pool.snapshot import Settings
from windlass.os_build.pullspec import Target

BASE = "quay.io/openshift/os@sha256:" + "a" * 64
NAMESPACE = "openshift-machine-config-operator"
V1 = "machineconfiguration.openshift.io/v1"


def machine_config(name: str = "rendered-worker-1", **spec: Any) -> dict[str, Any]:
    motd = {"path": "/etc/motd", "contents": {"source": "data:,hello"}}
    config = {"ignition": {"version": "3.4.0"}, "storage": {"files": [motd]}}
    return {
        "apiVersion": V1,
        "kind": "MachineConfig",
        "metadata": {"name": name},
        "spec": {"osImageURL": BASE, "config": config, **spec},
    }


def pool(config: str = "rendered-worker-1") -> dict[str, Any]:
    spec = {"configuration": {"name": config}}
    return {"apiVersion": V1, "kind": "MachineConfigPool", "metadata": {"name": "worker"}, "spec": spec}


def controller_config(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": V1,
        "kind": "ControllerConfig",
        "metadata": {"name": "machine-config-controller"},
        "spec": spec,
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def machine_os_config(name: str = "worker", *, version: str = V1, of: str = "worker", **spec: Any) -> dict[str, Any]:
    whole = {
        "machineConfigPool": {"name": of},
        "imageBuilder": {"imageBuilderType": "Job"},
        "renderedImagePushSecret": {"name": "push"},
        "renderedImagePushSpec": "r.example.com/machines/os:latest",
        "containerFile": [{"containerfileArch": "NoArch", "content": "FROM configs AS final\nRUN echo claimed\n"}],
    }
    return {"apiVersion": version, "kind": "MachineOSConfig", "metadata": {"name": name}, "spec": whole | spec}


USERS_PART = config_map("on-cluster-build-custom-dockerfile", worker="RUN echo mine\n")


class Shell:
    """Runs commands on files with these objects."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def file(self, *objects: dict[str, Any]) -> str:
        (file := self.folder / "objects.yaml").write_text(yaml.safe_dump_all(objects))
        return str(file)

    def os_build(self, *arguments: str) -> tuple[int, str, str]:
        code = run(["os-build", *arguments])
        said = self.capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([machine_config()], id="the-only-rendered-one-of-the-pool"),
        pytest.param([machine_config(), machine_config("rendered-worker-2"), pool()], id="the-one-that-the-pool-names"),
        pytest.param([machine_config("99-worker"), machine_config("rendered-master-1"), machine_config()], id="others"),
    ],
)
def test_a_containerfile_is_rendered_for_a_pool(shell: Shell, objects: list[dict[str, Any]]) -> None:
    code, out, err = shell.os_build("render", "-f", shell.file(*objects), "--pool", "worker")
    assert (code, err) == (Exit.OK, "")
    assert f"FROM {BASE} AS configs\n" in out
    assert 'LABEL machineconfig="rendered-worker-1"\n' in out


def test_the_users_part_is_that_of_the_config_map_or_of_a_file(shell: Shell) -> None:
    file = shell.file(machine_config(), USERS_PART)
    assert "RUN echo mine\n" in shell.os_build("render", "-f", file, "--pool", "worker")[1]
    (other := shell.folder / "Containerfile").write_text("RUN echo other\n")
    out = shell.os_build("render", "-f", file, "--pool", "worker", "--containerfile", str(other))[1]
    assert "RUN echo other\n" in out
    assert "mine" not in out


def test_the_base_is_that_of_the_option_or_of_the_machine_config_or_of_the_config_map(shell: Shell) -> None:
    file = shell.file(machine_config(osImageURL=""), config_map("machine-config-osimageurl", baseOSContainerImage=BASE))
    assert shell.os_build("render", "-f", file, "--pool", "worker")[1].startswith(f"FROM {BASE} ")
    out = shell.os_build("render", "-f", file, "--pool", "worker", "--base", "r.example.com/os:1")[1]
    assert out.startswith("FROM r.example.com/os:1 ")


def test_what_is_rendered_is_what_the_controller_builds_without_options(shell: Shell) -> None:
    file = shell.file(machine_config())
    default = shell.os_build("render", "-f", file, "--pool", "worker")
    assert default == shell.os_build("render", "-f", file, "--pool", "worker", "--apply-by", str(Settings().apply_by))
    tree = shell.os_build("render", "-f", file, "--pool", "worker", "--apply-by", "tree")
    assert default != tree
    assert "ADD rootfs.tar.gz /\n" in tree[1]


def test_the_containerfile_of_a_pool_that_a_machine_os_config_names_is_that_of_the_machine_os_config(
    shell: Shell,
) -> None:
    other = machine_os_config("infra", of="infra", containerFile=[{"content": "RUN echo infra\n"}])
    file = shell.file(machine_config(), USERS_PART, other, machine_os_config())
    out = shell.os_build("render", "-f", file, "--pool", "worker")[1]
    assert out.endswith(f"\nFROM configs AS final\nRUN echo claimed\n\n{LINT}\n")
    assert "mine" not in out
    (mine := shell.folder / "Containerfile").write_text("RUN echo other\n")
    out = shell.os_build("render", "-f", file, "--pool", "worker", "--containerfile", str(mine))[1]
    assert out.endswith(f"\nRUN echo other\n\n{LINT}\n")


def test_a_must_gather_has_the_machine_os_config_too(shell: Shell) -> None:
    gathered = shell.folder / "quay-io" / "cluster-scoped-resources" / "machineconfiguration.openshift.io"
    for kind, one in (("machineconfigs", machine_config()), ("machineosconfigs", machine_os_config())):
        (gathered / kind).mkdir(parents=True)
        (gathered / kind / f"{one['metadata']['name']}.yaml").write_text(yaml.safe_dump(one))
    (shell.folder / "quay-io" / "namespaces").mkdir()
    assert "RUN echo claimed\n" in shell.os_build("render", "-f", str(shell.folder), "--pool", "worker")[1]


@pytest.mark.parametrize(
    ("objects", "complaint"),
    [
        pytest.param(
            [machine_os_config(containerFile=[{"content": "RUN true\nRUM false"}])],
            "MachineOSConfig worker: spec.containerFile, line 2: unknown Dockerfile instruction: RUM",
            id="wrong-containerfile",
        ),
        pytest.param(
            [machine_os_config(containerFile=[{"containerfileArch": "S390X", "content": "RUN true"}])],
            "MachineOSConfig worker: spec.containerFile has entries for S390X, and images are built on",
            id="other-architecture",
        ),
        pytest.param(
            [machine_os_config(renderedImagePushSpec="r.example.com/a/b/c:1")],
            "MachineOSConfig worker: spec.renderedImagePushSpec is 'r.example.com/a/b/c:1', and the API takes no",
            id="a-target-that-the-controller-refuses",
        ),
        pytest.param(
            [machine_os_config("a"), machine_os_config("b")],
            "MachineOSConfigs a and b all name MachineConfigPool worker: give the file of one of them with -f",
            id="two-of-them",
        ),
        pytest.param(
            [machine_os_config(version="machineconfiguration.openshift.io/v1alpha1")],
            "MachineOSConfig/worker is of machineconfiguration.openshift.io/v1alpha1, and only "
            "machineconfiguration.openshift.io/v1 is read: give it as that, or leave it out and give --containerfile",
            id="an-older-version",
        ),
    ],
)
def test_what_is_wrong_with_a_machine_os_config_is_said_in_one_line(
    shell: Shell, objects: list[dict[str, Any]], complaint: str
) -> None:
    code, out, err = shell.os_build("render", "-f", shell.file(machine_config(), *objects), "--pool", "worker")
    assert (code, out, err.count("\n")) == (Exit.UNREADABLE, "", 1)
    assert complaint in err


def test_what_is_wrong_with_machine_os_configs_of_other_pools_does_not_matter(shell: Shell) -> None:
    old = machine_os_config("a", version="machineconfiguration.openshift.io/v1alpha1", of="a")
    wrong = machine_os_config("b", of="b", containerFile=3)
    file = shell.file(machine_config(), old, wrong, machine_os_config("c", of="c"), machine_os_config("d", of="c"))
    assert shell.os_build("render", "-f", file, "--pool", "worker")[0] == Exit.OK


def test_an_image_is_pushed_where_the_machine_os_config_says_or_the_option(shell: Shell) -> None:
    objects = [machine_config(), machine_os_config(renderedImagePushSpec="r.example.com/a/b/c:1")]
    choices = Choices(sources=(shell.file(*objects),), pool="worker", base="", containerfile=None, apply_by="tree")
    assert inputs(choices, push="127.0.0.1:5000/x/y/z").request.target == Target("127.0.0.1:5000", "x/y/z")
    with pytest.raises(Wrong, match="--push: 'os' has no host"):
        inputs(choices, push="os")
    shell.file(machine_config(), machine_os_config())
    assert inputs(choices, push="").request.target == Target("r.example.com", "machines/os")


@pytest.mark.parametrize(
    ("apply_by", "files"),
    [("tree", {"Containerfile", "rootfs.tar.gz"}), ("ignition", {"Containerfile", "machineconfig.json.gz"})],
)
def test_all_files_of_a_build_are_written_into_a_folder(shell: Shell, apply_by: str, files: set[str]) -> None:
    into = shell.folder / "context"
    arguments = ["render", "-f", shell.file(machine_config()), "--pool", "worker", "--apply-by", apply_by]
    assert shell.os_build(*arguments, "--into", str(into)) == (Exit.OK, "", "")
    assert files <= {path.name for path in into.iterdir()}


@pytest.mark.parametrize(
    ("objects", "complaint"),
    [
        pytest.param(
            [],
            "error: MachineConfigPool worker is not among the 0 objects that were read, and no MachineConfig is named "
            "rendered-worker-...: give the file of the pool, or of one rendered MachineConfig, with -f",
            id="nothing",
        ),
        pytest.param(
            [machine_config(), machine_config("rendered-worker-2")],
            "and 2 MachineConfigs are named rendered-worker-...: give the file of the pool",
            id="two-configs-without-the-pool",
        ),
        pytest.param(
            [machine_config(), pool("rendered-worker-9")],
            "error: MachineConfig rendered-worker-9 is not among the 2 objects that were read, and MachineConfigPool "
            "worker names it: give its file with -f",
            id="the-config-of-the-pool-is-missing",
        ),
        pytest.param([machine_config(), pool("99-worker")], "99-worker is not a rendered MachineConfig", id="odd-name"),
        pytest.param([machine_config(config={"ignition": {"version": "2.2.0"}})], "2.2.0", id="old-ignition"),
        pytest.param(
            [machine_config(), config_map("on-cluster-build-custom-dockerfile", worker="RUM true")],
            "on-cluster-build-custom-dockerfile, key worker, line 1",
            id="wrong-containerfile",
        ),
        pytest.param([{**machine_config(), "spec": 3}], "MachineConfig rendered-worker-1", id="no-spec"),
    ],
)
def test_what_is_wrong_with_the_input_is_said_in_one_line(
    shell: Shell, objects: list[dict[str, Any]], complaint: str
) -> None:
    code, out, err = shell.os_build("render", "-f", shell.file(*objects), "--pool", "worker")
    assert (code, out, err.count("\n")) == (Exit.UNREADABLE, "", 1)
    assert complaint in err


def test_a_mistake_in_the_file_of_the_users_part_is_said_with_its_line(shell: Shell) -> None:
    (file := shell.folder / "Containerfile").write_text("RUN true\nRUM false\n")
    arguments = ["-f", shell.file(machine_config()), "--pool", "worker", "--containerfile", str(file)]
    code, _, err = shell.os_build("render", *arguments)
    assert code == Exit.UNREADABLE
    assert err.startswith(f"error: {file}:2: ")


def test_unreadable_files_are_named(shell: Shell) -> None:
    (file := shell.folder / "broken.yaml").write_text("kind: [")
    code, _, err = shell.os_build("render", "-f", str(file), "--pool", "worker")
    assert code == Exit.UNREADABLE
    assert err.startswith(f"error: {file}:2: invalid YAML")


def test_a_build_needs_a_repository(shell: Shell) -> None:
    code, _, err = shell.os_build("build", "-f", shell.file(machine_config()), "--pool", "worker")
    assert code == Exit.USAGE
    assert "it is not known where to push the image: give --push HOST/ORG/REPO" in err
    code, _, err = shell.os_build("build", "-f", shell.file(machine_config()), "--pool", "worker", "--push", "org/os")
    assert code == Exit.UNREADABLE
    assert "'org/os' has no host: write it as host[:port]/org/repo" in err


def test_a_build_without_buildah_says_what_to_install(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(shell.folder))
    file = shell.file(machine_config(), config_map("machine-os-builder-config", finalImagePullspec="r.example.com/o/s"))
    code, out, err = shell.os_build("build", "-f", file, "--pool", "worker", "--store", str(shell.folder / "store"))
    assert (code, out) == (Exit.FAILED, "")
    assert err.startswith("error: the program buildah is missing, and local OS builds need it: install buildah")
    assert json.dumps(sorted(path.name for path in shell.folder.iterdir())) == '["objects.yaml"]'


def test_a_controller_config_among_the_files_gives_the_image_its_trust_bundle(shell: Shell) -> None:
    bundle = controller_config(additionalTrustBundle=encoded(pem("corporate")))
    code, out, _ = shell.os_build("render", "-f", shell.file(pool(), machine_config(), bundle), "--pool", "worker")
    assert code == Exit.OK
    assert f"COPY {BUNDLE} /etc/pki/ca-trust/source/anchors/{BUNDLE}" in out
    into = str(shell.folder / "context")
    shell.os_build("render", "-f", shell.file(pool(), machine_config(), bundle), "--pool", "worker", "--into", into)
    assert (shell.folder / "context" / BUNDLE).read_text() == pem("corporate")


def test_a_trust_bundle_of_the_command_line_replaces_that_of_the_files(shell: Shell) -> None:
    (own := shell.folder / "own.pem").write_text(pem("own"))
    files = shell.file(pool(), machine_config(), controller_config(additionalTrustBundle=encoded(pem("corporate"))))
    into = str(shell.folder / "context")
    code, _, _ = shell.os_build("render", "-f", files, "--pool", "worker", "--into", into, "--trust-bundle", str(own))
    assert code == Exit.OK
    assert (shell.folder / "context" / BUNDLE).read_text() == pem("own")


@pytest.mark.parametrize(
    ("objects", "options", "says"),
    [
        (
            [controller_config(additionalTrustBundle="%")],
            [],
            "spec.additionalTrustBundle: it is not the base64 of text",
        ),
        ([], ["--trust-bundle", "objects.yaml"], "objects.yaml: it holds no certificate in PEM"),
    ],
)
def test_a_trust_bundle_that_is_none_is_an_error_that_names_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, objects: list[Any], options: list[str], says: str
) -> None:
    monkeypatch.chdir(shell.folder)
    file = shell.file(pool(), machine_config(), *objects)
    code, _, err = shell.os_build("render", "-f", file, "--pool", "worker", *options)
    assert code == Exit.UNREADABLE
    assert says in err
