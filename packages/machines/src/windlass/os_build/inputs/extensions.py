"""Names the packages of OS extensions and kernels, and renders the script that installs them. Source: the operator.

The script runs with the extensions image mounted at `MOUNT`.

The operator has the table of its own release; ours is for every release. `PACKAGES` has each extension that some
release knows, with the packages that all such releases install. `NEWER` has packages that belong to an extension from
release 5.0 on: the script installs them if the extensions image has them, but never for a release 4.x. `FORMER` has
packages of kernels that newer versions of RHEL lack: they, too, are installed if the extensions image has them.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from windlass.os_build.inputs.image_mode import COMMIT, INSTALL

MOUNT: Final = "/tmp/mco-extensions/os-extensions-content"
DEFAULT: Final = "default"
LARGE_PAGES: Final = "64k-pages"
ARM: Final = frozenset({"arm64", "aarch64"})

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "two-node-ha": ("pacemaker", "pcs", "fence-agents-all"),
    "ipsec": ("NetworkManager-libreswan", "libreswan"),
    "usbguard": ("usbguard",),
    "kerberos": ("krb5-workstation", "libkadm5"),
    "kernel-devel": ("kernel-devel", "kernel-headers"),
    "sandboxed-containers": ("kata-containers",),
    "sysstat": ("sysstat",),
    "wasm": ("crun-wasm",),
}
NEWER: Final[Mapping[str, tuple[str, ...]]] = {"ipsec": ("openvswitch3.5-ipsec",)}
"""More packages of an extension, from release 5.0 on."""
KERNELS: Final[Mapping[str, tuple[str, ...]]] = {
    DEFAULT: ("kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra"),
    "realtime": ("kernel-rt-core", "kernel-rt-modules", "kernel-rt-modules-extra"),
    LARGE_PAGES: ("kernel-64k-core", "kernel-64k-modules", "kernel-64k-modules-core", "kernel-64k-modules-extra"),
}
FORMER: Final[Mapping[str, tuple[str, ...]]] = {"realtime": ("kernel-rt-kvm",)}
"""More packages of a kernel, before RHEL 9.7."""
_CONTENT: Final = f"{MOUNT}/usr/share/rpm-ostree/extensions"
_BEFORE_NEWER: Final = re.compile(r"4\.")
_USBGUARD_AND_IPSEC: Final = """\
rm -f /usr/lib/tmpfiles.d/usbguard.conf
cat > /usr/lib/tmpfiles.d/usbguard_ipsec.conf <<'END'
d /var/log/usbguard 0755 root root -
d /var/lib/ipsec 0700 root root -
d /var/lib/ipsec/nss 0700 root root -
END
"""


class Wanted(Struct, frozen=True):
    """What a MachineConfig asks to install: names of extensions, and a type of kernel.

    `release` is the version of OpenShift, such as 4.19.3; empty if unknown.
    """

    extensions: tuple[str, ...] = ()
    kernel: str = DEFAULT
    release: str = ""

    @classmethod
    def of(cls, extensions: Sequence[str], kernel_type: str, *, release: str = "") -> "Wanted":
        """Each extension once, in alphabetical order; no kernel type is the default."""
        return cls(tuple(sorted(set(extensions))), kernel_type or DEFAULT, release)

    def __bool__(self) -> bool:
        return bool(self.extensions) or self.kernel != DEFAULT

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that the extensions have in every release."""
        return tuple(package for name in self.extensions for package in PACKAGES[name])

    @property
    def newer(self) -> tuple[str, ...]:
        """The packages that are installed too if the extensions image has them."""
        if _BEFORE_NEWER.match(self.release):
            return ()
        return tuple(package for name in self.extensions for package in NEWER.get(name, ()))

    def wrong(self, *, arch: str) -> str:
        """What cannot be installed, or an empty text. `arch` is that of the machine that builds, empty if unknown."""
        if unknown := [name for name in self.extensions if name not in PACKAGES]:
            known = ", ".join(PACKAGES)
            return f"spec.extensions: invalid extensions found: [{' '.join(unknown)}]: use some of {known}"
        if self.kernel not in KERNELS:
            return f"spec.kernelType: {self.kernel!r} is unknown: use one of {', '.join(KERNELS)}"
        if "kernel-devel" in self.extensions and self.kernel != DEFAULT:
            return (
                f"installing kernel-devel extension is not supported with kernelType: {self.kernel}: "
                "remove one of them from the MachineConfigs of the pool"
            )
        if self.kernel == LARGE_PAGES and arch and arch not in ARM:
            return f"spec.kernelType: {LARGE_PAGES} exists on arm64 only, and this builds on {arch}: build on arm64"
        return ""


def script(wanted: Wanted) -> str:
    """The script: POSIX sh, for a real base image of the OS."""
    parts = [_HEAD, _HAS]
    if wanted.packages:
        parts += [INSTALL, _install(wanted)]
    if wanted.kernel != DEFAULT:
        parts.append(_kernel_switch(wanted.kernel))
    parts.append('rm -f "$repository"\n')
    if {"usbguard", "ipsec"} & set(wanted.extensions):
        parts.append(_USBGUARD_AND_IPSEC)
    parts.append(f'rm -f "$0"\n{COMMIT}')
    return "\n".join(parts)


_HEAD: Final = f"""\
#!/bin/sh
# Installs what the rendered MachineConfig asks for, from the extensions image.
set -eu

repository=/etc/yum.repos.d/coreos-extensions.repo
cat > "$repository" <<'END'
[coreos-extensions]
name=coreos-extensions
baseurl=file://{_CONTENT}/
enabled=1
gpgcheck=0
skip_if_unavailable=False
END
"""


# A file is NAME-VERSION-RELEASE.ARCH.rpm, and neither VERSION nor RELEASE has a hyphen.
_HAS: Final = f"""\
content={_CONTENT}
has() {{
    for file in "$content/$1"-*.rpm; do
        case "${{file#"$content/$1-"}}" in
        *-*-*) ;;
        *-*) return 0 ;;
        esac
    done
    return 1
}}
"""


def _packages(always: Sequence[str], if_there: Sequence[str]) -> str:
    """Lines that set `packages`."""
    lines = [f"packages='{shlex.join(always)}'"]
    lines += [f'if has {name}; then packages="$packages {name}"; fi' for name in map(shlex.quote, if_there)]
    return "".join(f"{line}\n" for line in lines)


def _install(wanted: Wanted) -> str:
    return f"""\
{_packages(wanted.packages, wanted.newer)}install $packages || {{
    status=$?
    echo 'spec.extensions of the MachineConfig: {" ".join(wanted.extensions)}: not all packages can be installed' >&2
    exit $status
}}
"""


def _kernel_switch(kernel: str) -> str:
    """One transaction, since a system without a kernel cannot be committed."""
    return f"""\
if rpm -q kernel-rt-core > /dev/null 2>&1; then
    installed='realtime' old='{_every("realtime")}'
elif rpm -q kernel-64k-core > /dev/null 2>&1; then
    installed='{LARGE_PAGES}' old='{_every(LARGE_PAGES)}'
elif rpm -q kernel-core > /dev/null 2>&1; then
    installed='{DEFAULT}' old='{_every(DEFAULT)}'
else
    echo 'spec.kernelType: the base image has none of kernel-core, kernel-rt-core and kernel-64k-core to replace' >&2
    exit 1
fi
{_packages(KERNELS[kernel], FORMER.get(kernel, ()))}if [ "$installed" != '{kernel}' ]; then
    dnf -y shell <<END
remove $old
install $packages
run
END
    # dnf removes, and ends with 0, even if it finds none of the packages to install.
    rpm -q $packages || {{
        echo 'spec.kernelType of the MachineConfig: {kernel}: not all packages can be installed' >&2
        exit 1
    }}
fi
"""


def _every(kernel: str) -> str:
    return " ".join((*KERNELS[kernel], *FORMER.get(kernel, ())))
