"""Names the packages of OS extensions and kernels, and renders the script that installs them. Source: the operator.

The script runs with the extensions image mounted at `MOUNT`.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

MOUNT: Final = "/tmp/mco-extensions/os-extensions-content"
DEFAULT: Final = "default"
LARGE_PAGES: Final = "64k-pages"
ARM: Final = frozenset({"arm64", "aarch64"})

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "two-node-ha": ("pacemaker", "pcs", "fence-agents-all"),
    "ipsec": ("NetworkManager-libreswan", "libreswan", "openvswitch3.5-ipsec"),
    "usbguard": ("usbguard",),
    "kerberos": ("krb5-workstation", "libkadm5"),
    "kernel-devel": ("kernel-devel", "kernel-headers"),
    "sandboxed-containers": ("kata-containers",),
    "sysstat": ("sysstat",),
}
KERNELS: Final[Mapping[str, tuple[str, ...]]] = {
    DEFAULT: ("kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra"),
    "realtime": ("kernel-rt-core", "kernel-rt-modules", "kernel-rt-modules-extra", "kernel-rt-kvm"),
    LARGE_PAGES: ("kernel-64k-core", "kernel-64k-modules", "kernel-64k-modules-core", "kernel-64k-modules-extra"),
}
_USBGUARD_AND_IPSEC: Final = """\
rm -f /usr/lib/tmpfiles.d/usbguard.conf
cat > /usr/lib/tmpfiles.d/usbguard_ipsec.conf <<'END'
d /var/log/usbguard 0755 root root -
d /var/lib/ipsec 0700 root root -
d /var/lib/ipsec/nss 0700 root root -
END
"""


class Wanted(Struct, frozen=True):
    """What a MachineConfig asks to install: names of extensions, and a type of kernel."""

    extensions: tuple[str, ...] = ()
    kernel: str = DEFAULT

    @classmethod
    def of(cls, extensions: Sequence[str], kernel_type: str) -> "Wanted":
        """Each extension once, in alphabetical order; no kernel type is the default."""
        return cls(tuple(sorted(set(extensions))), kernel_type or DEFAULT)

    def __bool__(self) -> bool:
        return bool(self.extensions) or self.kernel != DEFAULT

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of the extensions."""
        return tuple(package for name in self.extensions for package in PACKAGES[name])

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
    parts = [_HEAD]
    if wanted.packages:
        parts.append(f"rpm-ostree install {shlex.join(wanted.packages)}\n")
    if wanted.kernel != DEFAULT:
        parts.append(_kernel_switch(wanted.kernel))
    parts.append('rm -f "$repository"\n')
    if {"usbguard", "ipsec"} & set(wanted.extensions):
        parts.append(_USBGUARD_AND_IPSEC)
    parts.append('rm -f "$0"\nostree container commit\n')
    return "\n".join(parts)


_HEAD: Final = f"""\
#!/bin/sh
# Installs what the rendered MachineConfig asks for, from the extensions image.
set -eu

repository=/etc/yum.repos.d/coreos-extensions.repo
cat > "$repository" <<'END'
[coreos-extensions]
name=coreos-extensions
baseurl=file://{MOUNT}/usr/share/rpm-ostree/extensions/
enabled=1
gpgcheck=0
END
"""


def _kernel_switch(kernel: str) -> str:
    """One transaction, since a system without a kernel cannot be committed."""
    return f"""\
if rpm -q kernel-rt-core > /dev/null 2>&1; then
    installed='realtime' old='{" ".join(KERNELS["realtime"])}'
elif rpm -q kernel-64k-core > /dev/null 2>&1; then
    installed='{LARGE_PAGES}' old='{" ".join(KERNELS[LARGE_PAGES])}'
else
    installed='{DEFAULT}' old='{" ".join(KERNELS[DEFAULT])}'
fi
if [ "$installed" != '{kernel}' ]; then
    dnf -y shell <<END
remove $old
install {" ".join(KERNELS[kernel])}
run
END
fi
"""
