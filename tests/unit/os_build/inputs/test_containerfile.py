"""The rendered Containerfile and its scripts, whole and in their rules.

Deviations from the operator's: no object is named after the MachineConfig (`mc-`, `dockerfile-`, `build-`), since a
build is named by its inputs; the extensions image is named only when something is installed from it; the MachineConfig
is plain gzip.
"""

import gzip
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.os_build.inputs.cases import BASE, EXTENSIONS, NAME, context, machine_config, problem, request
from windlass.os_build.identity import inputs_of
from windlass.os_build.inputs.containerfile import APPLY
from windlass.os_build.inputs.context import ApplyBy
from windlass.os_build.inputs.extensions import KERNELS, NEWER, PACKAGES, Wanted, script
from windlass.os_build.inputs.image_mode import LINT
from windlass.os_build.inputs.labels import cluster_mark
from windlass.os_build.inputs.lint import lint_user_part

IGNITION = ApplyBy.IGNITION
OS_IMAGES = "ConfigMap openshift-machine-config-operator/machine-config-osimageurl"
USER = "FROM configs AS final\nRUN dnf -y install htop"


def test_as_a_tree() -> None:
    made = context(machine_config(), request(USER, release="4.19.1"))
    assert list(made.files) == ["Containerfile", "rootfs.tar.gz"]
    assert made.containerfile == (
        f"FROM {BASE} AS configs\n"
        "ADD rootfs.tar.gz /\n"
        f'LABEL machineconfig="{NAME}"\n'
        'LABEL machineconfigpool="worker"\n'
        'LABEL releaseversion="4.19.1"\n'
        f'LABEL baseOSContainerImage="{BASE}"\n'
        f"\n{USER}\n"
        f"\n{LINT}\n"
    )


def test_an_image_names_its_cluster_only_if_images_are_removed_and_its_build_has_the_same_name() -> None:
    plain, marked = request(), replace(request(), cluster="uid-of-a-cluster")
    assert "io.windlass.cluster" not in context(machine_config(), plain).containerfile
    for apply_by in ApplyBy:
        text = context(machine_config(), marked, apply_by=apply_by).containerfile
        mark = cluster_mark("uid-of-a-cluster", pool="worker", config=NAME, base=BASE)
        assert f'LABEL io.windlass.cluster="{mark}"\n' in text
        assert "uid-of-a-cluster" not in text
    assert inputs_of(plain, applied_by="tree") == inputs_of(marked, applied_by="tree")


def test_nothing_in_a_label_is_replaced_or_ends_it() -> None:
    text = context(machine_config(), request(release='4 "$HOME" \\\nRUN x')).containerfile
    assert 'LABEL releaseversion="4 \\"\\$HOME\\" \\\\ RUN x"\n' in text


def test_by_ignition() -> None:
    document = machine_config(extensions=["usbguard"], baseOSExtensionsContainerImage=EXTENSIONS)
    made = context(document, request("RUN true\n"), apply_by=IGNITION)
    assert list(made.files) == ["Containerfile", "machineconfig.json.gz", "ignition.sh", "extensions.sh"]
    assert made.containerfile == (
        f"FROM {BASE} AS extract\n"
        "COPY machineconfig.json.gz /tmp/machineconfig.json.gz\n"
        "RUN mkdir -p /etc/machine-config-daemon && gunzip -c /tmp/machineconfig.json.gz > "
        "/etc/machine-config-daemon/currentconfig && chmod 600 /etc/machine-config-daemon/currentconfig\n"
        "\n"
        f"FROM {BASE} AS configs\n"
        "COPY --from=extract /etc/machine-config-daemon/currentconfig /etc/machine-config-daemon/currentconfig\n"
        "COPY ignition.sh /tmp/ignition.sh\n"
        "RUN sh /tmp/ignition.sh\n"
        "COPY extensions.sh /tmp/extensions.sh\n"
        f"RUN --mount=type=bind,from={EXTENSIONS},source=/,target=/tmp/mco-extensions/os-extensions-content "
        "sh /tmp/extensions.sh\n"
        f'LABEL machineconfig="{NAME}"\n'
        'LABEL machineconfigpool="worker"\n'
        f'LABEL baseOSContainerImage="{BASE}"\n'
        "\nRUN true\n"
        f"\n{LINT}\n"
    )
    current = json.loads(gzip.decompress(made.files["machineconfig.json.gz"]))
    assert current["spec"] == json.loads(document)["spec"]


@pytest.mark.parametrize("images", [{}, {"extensions": EXTENSIONS}], ids=["B16 no image", "nothing to install"])
def test_nothing_is_mounted_if_nothing_is_installed(images: dict[str, str]) -> None:
    made = context(machine_config(), request(**images), apply_by=IGNITION)
    assert "--mount" not in made.containerfile
    assert "extensions.sh" not in made.files


@pytest.mark.parametrize("apply_by", ApplyBy)
@pytest.mark.parametrize("user", ["", "\n# none\n", USER, "RUN true\n", "FROM other AS tools\nFROM configs\n"])
def test_every_rendered_containerfile_passes_the_lint(user: str, apply_by: ApplyBy) -> None:
    assert lint_user_part(context(machine_config(), request(user), apply_by=apply_by).containerfile) == ()


def test_images_of_the_release_stand_in_for_those_that_the_machine_config_does_not_name() -> None:
    document = machine_config(osImageURL="", baseOSExtensionsContainerImage=None, extensions=["sysstat"])
    text = context(document, request(base="a.io/os:1", extensions="a.io/ext:1"), apply_by=IGNITION).containerfile
    assert "FROM a.io/os:1 AS configs\n" in text
    assert ",from=a.io/ext:1," in text
    named = machine_config(extensions=["sysstat"], baseOSExtensionsContainerImage=EXTENSIONS)
    text = context(named, request(base="a.io/os:1", extensions="a.io/ext:1"), apply_by=IGNITION).containerfile
    assert "a.io" not in text


@pytest.mark.parametrize(
    ("spec", "images", "said"),
    [
        ({"osImageURL": "a.io/b\nRUN evil"}, {}, f"spec.osImageURL of MachineConfig {NAME} is 'a.io/b\\nRUN evil'"),
        ({"osImageURL": ""}, {"base": "a b"}, f"baseOSContainerImage in {OS_IMAGES} is 'a b'"),
        ({"extensions": ["ipsec"]}, {"extensions": "a,b"}, f"baseOSExtensionsContainerImage in {OS_IMAGES} is 'a,b'"),
    ],
    ids=["MachineConfig", "release", "extensions"],
)
def test_an_image_that_is_no_pullspec_is_named(spec: Any, images: dict[str, str], said: str) -> None:
    found = problem(machine_config(**spec), request(**images), apply_by=IGNITION)
    assert (found.reason, found.text) == ("ConfigurationInvalid", f"{said}, which is no pullspec: correct it")


def test_an_image_that_nobody_names_has_two_places_to_be_set() -> None:
    found = problem(machine_config(osImageURL=""))
    place = f"spec.osImageURL of MachineConfig {NAME} or baseOSContainerImage in {OS_IMAGES}"
    assert (found.reason, found.text) == ("BaseImageMissing", f"no base image is known: set {place}")
    found = problem(machine_config(kernelType="realtime", extensions=["ipsec"]), apply_by=IGNITION)
    place = (
        f"spec.baseOSExtensionsContainerImage of MachineConfig {NAME} or baseOSExtensionsContainerImage in {OS_IMAGES}"
    )
    assert found.reason == "ExtensionsUnavailable"
    assert found.text == f"no image with packages for ipsec realtime is known: set {place}"


UNKNOWN = {
    "unknown extensions": (
        {"extensions": ["usbguard", "b", "a"]},
        "spec.extensions: invalid extensions found: [a b]: use some of two-node-ha, ipsec,",
    ),
    "unknown kernel": ({"kernelType": "fast"}, "spec.kernelType: 'fast' is unknown: use one of default, realtime,"),
    "kernel-devel": (
        {"kernelType": "realtime", "extensions": ["kernel-devel"]},
        "installing kernel-devel extension is not supported with kernelType: realtime: remove one of them",
    ),
    "64k-pages off arm64": (
        {"kernelType": "64k-pages"},
        "spec.kernelType: 64k-pages exists on arm64 only, and this builds on amd64: build on arm64",
    ),
}


@pytest.mark.parametrize(("spec", "said"), UNKNOWN.values(), ids=UNKNOWN)
@pytest.mark.parametrize("apply_by", ApplyBy)
def test_packages_that_do_not_exist_are_named(spec: Any, said: str, apply_by: ApplyBy) -> None:
    found = problem(machine_config(**spec), request(extensions=EXTENSIONS), apply_by=apply_by, arch="amd64")
    assert found.reason == "ExtensionsUnavailable"
    assert found.text.startswith(f"MachineConfig {NAME}: {said}")


@pytest.mark.parametrize("arch", ["", "arm64", "aarch64"])
def test_large_pages_are_built_on_arm_and_where_the_architecture_is_unknown(arch: str) -> None:
    context(machine_config(kernelType="64k-pages"), request(extensions=EXTENSIONS), apply_by=IGNITION, arch=arch)


@pytest.mark.parametrize("spec", [{"extensions": ["sysstat"]}, {"kernelType": "realtime"}])
def test_a_tree_has_no_packages(spec: dict[str, str]) -> None:
    found = problem(machine_config(**spec), request(extensions=EXTENSIONS))
    assert found.reason == "ExtensionsUnavailable"
    assert "only ignition can install them" in found.text


def test_extensions_become_packages_each_once() -> None:
    wanted = Wanted.of(["usbguard", "kerberos", "usbguard"], "")
    assert wanted.packages == ("krb5-workstation", "libkadm5", "usbguard")
    assert "\npackages='krb5-workstation libkadm5 usbguard'\n" in script(wanted)


STUB = """\
#!/bin/sh
case "${0##*/}" in
rpm)
    shift
    for package; do
        case " $INSTALLED $(cat "$ROOT/new") " in *" $package "*) ;; *) exit 1 ;; esac
    done
    exit 0
    ;;
esac
echo "${0##*/} $*"
case "${0##*/}" in
dnf)
    while read -r line; do
        echo "$line"
        for word in ${line#install}; do
            ls "$REPOSITORY/$word"-[0-9]*.rpm > /dev/null 2>&1 && printf ' %s' "$word" >> "$ROOT/new"
        done
    done
    ;;
rpm-ostree) cat "$ROOT"/etc/yum.repos.d/*; exit "$STATUS" ;;
jq) cat "$2" ;;
ignition-apply) echo "container=$container $(cat "$2")" ;;
esac
exit 0
"""
"""Programs of an OS. dnf installs what the repository has, and is content: so does that of RHEL 9 in a shell."""


CONTENT = "tmp/mco-extensions/os-extensions-content/usr/share/rpm-ostree/extensions"


def run(
    text: str, root: Path, *, installed: str = "kernel-core", status: int = 0, rpms: Sequence[str] = (), said: str = ""
) -> list[str]:
    """What a script does below `root`, with commands that print how they were called; `rpms` are files in the
    extensions image, `said` is on standard error."""
    for name in ("bin", "etc/yum.repos.d", "usr/lib/tmpfiles.d", "etc/machine-config-daemon", CONTENT):
        (root / name).mkdir(parents=True)
    for rpm in rpms:
        (root / CONTENT / rpm).touch()
    (root / "new").touch()
    ignition = root / "usr/lib/dracut/modules.d/30ignition/ignition"
    ignition.parent.mkdir(parents=True)
    for stub in (*(root / "bin" / name for name in ("rpm", "rpm-ostree", "dnf", "ostree", "jq")), ignition):
        stub.write_text(STUB)
        stub.chmod(0o755)
    (root / "etc/machine-config-daemon/currentconfig").write_text("CONFIG")
    file = root / "script.sh"
    for place in ("/etc/", "/usr/lib/", "=/tmp/mco-extensions/"):
        text = text.replace(place, place.replace("/", f"{root}/", 1))
    file.write_text(text)
    environment = {
        "PATH": f"{root}/bin:{os.environ['PATH']}",
        "ROOT": str(root),
        "REPOSITORY": str(root / CONTENT),
        "TMPDIR": str(root),
        "INSTALLED": installed,
        "STATUS": str(status),
    }
    ran = subprocess.run(["sh", file], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.strip()) == (status, said)
    assert file.exists() == bool(status)
    return ran.stdout.replace(str(root), "").splitlines()


REPOSITORY = [
    "[coreos-extensions]",
    "name=coreos-extensions",
    "baseurl=file:///tmp/mco-extensions/os-extensions-content/usr/share/rpm-ostree/extensions/",
    "enabled=1",
    "gpgcheck=0",
    "skip_if_unavailable=False",
]
COMMIT = "ostree container commit"


def test_the_script_installs_packages_and_leaves_no_repository(tmp_path: Path) -> None:
    assert run(script(Wanted.of(["sysstat"], "")), tmp_path) == ["rpm-ostree install sysstat", *REPOSITORY, COMMIT]
    assert list((tmp_path / "etc/yum.repos.d").iterdir()) == []
    assert list((tmp_path / "usr/lib/tmpfiles.d").iterdir()) == []


def test_the_script_ends_with_the_status_of_what_failed_and_says_what_asked_for_it(tmp_path: Path) -> None:
    said = "spec.extensions of the MachineConfig: ipsec sysstat: not all packages can be installed"
    assert COMMIT not in run(script(Wanted.of(["sysstat", "ipsec"], "realtime")), tmp_path, status=77, said=said)


DATA = Path(__file__).parents[3] / "data" / "os_build" / "extensions"
BUILDS = json.loads((DATA / "builds.json").read_bytes())
RELEASES = json.loads((DATA / "releases.json").read_bytes())
NEWER_RPM = "openvswitch3.5-ipsec-3.5.2-43.el9fdp.x86_64.rpm"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in BUILDS])
def test_extensions_are_installed_as_the_operator_does_or_refused(case: dict[str, Any]) -> None:
    image = EXTENSIONS if case["image"] else ""
    document = machine_config(extensions=case["extensions"], baseOSExtensionsContainerImage=image)
    if refused := case.get("refused"):
        assert refused in problem(document, apply_by=IGNITION).text
        return
    made = context(document, apply_by=IGNITION)
    assert (f",from={EXTENSIONS}," in made.containerfile) == bool(case["operator"])
    if case["operator"]:
        assert f"packages='{' '.join(case['operator'])}'\n" in made.files["extensions.sh"].decode()


@pytest.mark.parametrize("release", RELEASES)
def test_the_packages_of_extensions_are_those_of_the_operator_of_each_release(release: str, tmp_path: Path) -> None:
    """Whether the image says its release, or only its repository tells. An image of 4.x may have newer packages."""
    for number, (extension, packages) in enumerate(RELEASES[release].items()):
        rpms = [f"{package}-1.2-3.el9.x86_64.rpm" for package in packages]
        for known, files in ((f"{release}.1", [*rpms, NEWER_RPM]), ("", rpms)):
            wanted = Wanted.of([extension], "", release=known)
            assert wanted.wrong(arch="") == ""
            said = run(script(wanted), tmp_path / f"{number}{known}", rpms=files)
            assert sorted(said[0].split()[2:]) == sorted(packages)


def test_only_extensions_that_some_release_has_are_known() -> None:
    assert {extension for each in RELEASES.values() for extension in each} == set(PACKAGES)
    assert set(NEWER) <= set(PACKAGES)


@pytest.mark.parametrize(
    ("rpms", "found"),
    [
        ([NEWER_RPM], True),
        ([NEWER_RPM, NEWER_RPM.replace("x86_64", "aarch64")], True),
        ([], False),
        (["openvswitch3.5-ipsec-test-3.5.2-43.el9fdp.x86_64.rpm"], False),
        (["openvswitch3.6-ipsec-3.6.0-1.el9fdp.x86_64.rpm", "openvswitch3.5-3.5.2-43.el9fdp.x86_64.rpm"], False),
    ],
    ids=["there", "twice", "missing", "a longer name", "other names"],
)
@pytest.mark.parametrize("release", ["", "5.0.0", "10.1.0", "0.0.1-snapshot"])
def test_a_newer_package_is_installed_if_the_extensions_image_has_it(
    rpms: list[str], found: bool, release: str, tmp_path: Path
) -> None:
    said = run(script(Wanted.of(["ipsec"], "", release=release)), tmp_path, rpms=rpms)
    more = " openvswitch3.5-ipsec" if found else ""
    assert said[0] == f"rpm-ostree install NetworkManager-libreswan libreswan{more}"


def test_the_release_is_that_of_the_machine_config_or_of_the_config_map() -> None:
    document = json.loads(machine_config(extensions=["ipsec"]))
    old = context(json.dumps(document).encode(), request(extensions=EXTENSIONS, release="4.19.1"), apply_by=IGNITION)
    assert b"openvswitch" not in old.files["extensions.sh"]
    document["metadata"]["annotations"]["machineconfiguration.openshift.io/release-image-version"] = "5.0.0"
    new = context(json.dumps(document).encode(), request(extensions=EXTENSIONS, release="4.19.1"), apply_by=IGNITION)
    assert b"openvswitch3.5-ipsec" in new.files["extensions.sh"]


@pytest.mark.parametrize("extension", ["usbguard", "ipsec"])
def test_directories_of_usbguard_and_ipsec_are_made_at_boot(extension: str, tmp_path: Path) -> None:
    run(script(Wanted.of([extension], "")), tmp_path)
    (file,) = (tmp_path / "usr/lib/tmpfiles.d").iterdir()
    assert file.name == "usbguard_ipsec.conf"
    assert file.read_text() == (
        "d /var/log/usbguard 0755 root root -\nd /var/lib/ipsec 0700 root root -\n"
        "d /var/lib/ipsec/nss 0700 root root -\n"
    )


KVM = "kernel-rt-kvm"


def files_of(packages: Sequence[str]) -> list[str]:
    return [f"{package}-5.14.0-570.el9.x86_64.rpm" for package in packages]


@pytest.mark.parametrize(
    ("kernel", "installed", "removed"),
    [
        ("realtime", "kernel-core", KERNELS["default"]),
        ("realtime", "kernel-64k-core", KERNELS["64k-pages"]),
        ("64k-pages", "kernel-core", KERNELS["default"]),
        ("64k-pages", "kernel-rt-core", (*KERNELS["realtime"], KVM)),
        ("realtime", "kernel-rt-core", ()),
        ("64k-pages", "kernel-64k-core", ()),
    ],
)
def test_another_kernel_replaces_the_one_that_is_there(
    kernel: str, installed: str, removed: Sequence[str], tmp_path: Path
) -> None:
    shell = []
    if removed:
        shell = ["dnf -y shell", f"remove {' '.join(removed)}", f"install {' '.join(KERNELS[kernel])}", "run"]
    rpms = files_of(KERNELS[kernel])
    assert run(script(Wanted.of([], kernel)), tmp_path, installed=installed, rpms=rpms) == [*shell, COMMIT]


def test_a_package_that_only_older_kernels_have_is_installed_if_the_extensions_image_has_it(tmp_path: Path) -> None:
    said = run(script(Wanted.of([], "realtime")), tmp_path, rpms=files_of([*KERNELS["realtime"], KVM]))
    assert said[2] == f"install {' '.join(KERNELS['realtime'])} {KVM}"


@pytest.mark.parametrize("rpms", [[], ["kernel-rt-core", "kernel-rt-modules"]], ids=["none", "some"])
def test_an_image_without_its_kernel_is_not_committed(rpms: list[str], tmp_path: Path) -> None:
    said = "spec.kernelType of the MachineConfig: realtime: not all packages can be installed"
    done = run(script(Wanted.of([], "realtime")), tmp_path, rpms=files_of(rpms), status=1, said=said)
    assert done[0] == "dnf -y shell"
    assert COMMIT not in done


def test_a_kernel_that_nobody_knows_is_not_replaced(tmp_path: Path) -> None:
    said = "spec.kernelType: the base image has none of kernel-core, kernel-rt-core and kernel-64k-core to replace"
    assert run(script(Wanted.of([], "realtime")), tmp_path, installed="kernel-uek-core", status=1, said=said) == []


def test_ignition_is_called_as_the_program_that_applies_to_a_live_system(tmp_path: Path) -> None:
    said = run(APPLY, tmp_path)
    work = said[0].split()[-1].rpartition("/")[0]
    assert said == [
        f"ignition-apply --ignore-unsupported {work}/config.ign",
        "container=oci jq .spec.config /etc/machine-config-daemon/currentconfig",
        "CONFIG",
        COMMIT,
    ]
    assert not (tmp_path / work.lstrip("/")).exists()
