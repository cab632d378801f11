"""Installs OpenStack's packages into a virtual environment in the cache, once per machine and Python version.

${XDG_CACHE_HOME:-~/.cache}/windlass/openstack/
    packages-2026.2-py3.11-1f0c...    the virtual environment; its programs are run with `python -m`
    seed-9a2b...                      databases and keys of a cloud that was just made, see `seed`
    .lock, .incoming-*                as in `windlass.testing.binaries.cache`
"""

import hashlib
import subprocess
import sys
from pathlib import Path

from windlass.kube.folders import cache_folder
from windlass.testing.binaries.cache import Folders
from windlass.testing.binaries.progress import Clock, Report
from windlass.testing.cloud.errors import InstallFailed, end_of


def folders(root: Path | None = None) -> Folders:
    """The cache."""
    return Folders(root or cache_folder("openstack"))


def key() -> str:
    """The name of the environment: another pin or another Python makes another one."""
    python = ".".join(map(str, sys.version_info[:2]))
    digest = hashlib.sha256("\n".join((*PINS, *PROJECTS, SERVER, sys.platform)).encode()).hexdigest()
    return f"packages-{RELEASE}-py{python}-{digest[:12]}"


def obtain(cache: Folders, *, report: Report) -> Path:
    """The environment, made now if it is not there: 60 s on two cores, 50 MB to load, 700 MB of disk.

    For a holder of `cache.filling`. Raises InstallFailed.
    """
    if (found := cache.get(key())) is not None:
        return found
    clock = Clock()
    report(f"installing OpenStack {RELEASE} from PyPI into {cache.root}; once, about a minute")
    with cache.incoming_for(key()) as staging:
        log = staging / "pip.log"
        constraints = staging / "constraints.txt"
        constraints.write_text("\n".join(PINS) + "\n", encoding="ascii")
        _run([sys.executable, "-m", "venv", staging], log)
        pip: list[str | Path] = [staging / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
        _run([*pip, "install", "-c", constraints, *PROJECTS, SERVER], log)
    report(f"OpenStack is installed ({clock})")
    return cache.root / key()


def _run(command: list[str | Path], log: Path) -> None:
    with log.open("ab") as output:
        done = subprocess.run(command, stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        raise InstallFailed(
            f"`{' '.join(map(str, command))[:200]}` failed. It needs Python's venv module (on Debian and Ubuntu: "
            f"apt-get install python3-venv) and a package index that pip can reach. The end of its output:\n"
            f"{end_of(log)}"
        )


# The OpenStack that clouds run: releases of 2026.2, and each package that they bring in, as tested.

RELEASE = "2026.2"

PROJECTS = ("keystone", "openstack-placement", "glance", "neutron", "nova", "cinder", "octavia")
SERVER = "cheroot"
"""The WSGI server: threads, keep-alive, chunked uploads, TLS; nothing to compile."""

PINS = tuple(
    """
alembic==1.20.1 amqp==5.4.2 aniso8601==10.0.1 attrs==26.1.0 automaton==3.5.0 autopage==0.6.0 bcrypt==5.0.0
blinker==1.9.0 cachetools==8.0.0 castellan==5.8.0 certifi==2026.10.18 cffi==2.1.1 charset-normalizer==3.5.2
cheroot==11.1.2 cinder==29.0.0 click==8.5.1 cliff==4.17.0 cmd2==4.3.1 cotyledon==2.2.0 cryptography==50.0.2
cursive==0.3.1 debtcollector==3.1.0 decorator==5.3.1 defusedxml==0.7.1 distro==1.9.0 dnspython==2.9.2
dogpile.cache==1.5.0 elementpath==4.8.0 eventlet==0.41.3 fasteners==0.20 fixtures==4.3.2 Flask-RESTful==0.3.10
Flask==3.1.3 futurist==3.5.0 glance==33.0.0 glance_store==5.7.0 greenlet==3.5.6 gunicorn==27.0.1 httplib2==0.32.1
idna==3.20 importlib_metadata==10.2.0 invoke==3.0.3 iso8601==2.1.0 itsdangerous==2.2.0 jaraco.functools==4.6.0
Jinja2==3.1.6 jmespath==1.1.0 jsonpatch==1.47 jsonpointer==3.12 jsonschema-specifications==2025.9.1 jsonschema==4.26.0
jwcrypto==1.6.1 keystone==30.0.0 keystoneauth1==5.18.1 keystonemiddleware==13.0.1 kombu==5.7.0 lazy-importer==0.1.0
lxml==6.1.3 Mako==1.4.3 markdown-it-py==4.3.0 MarkupSafe==3.0.4 mdurl==0.1.2 microversion_parse==2.1.0
more-itertools==11.2.1 msgpack==1.2.4 ncclient==0.7.1 netaddr==1.3.0 networkx==3.6.1 neutron-lib==5.0.1
neutron==29.0.0 nova==34.0.0 numpy==2.4.6 oauthlib==4.0.1 octavia-lib==3.12.0 octavia==19.0.0
openstack-placement==16.0.0 openstacksdk==4.22.0 os-brick==7.1.1 os-ken==4.2.2 os-resource-classes==1.1.0
os-service-types==1.9.0 os-traits==3.9.0 osc-lib==4.7.0 oslo.cache==4.3.0 oslo.concurrency==7.6.1 oslo.config==10.7.0
oslo.context==6.5.0 oslo.db==18.1.1 oslo.i18n==6.9.0 oslo.limit==2.12.0 oslo.log==8.3.2 oslo.messaging==18.3.1
oslo.metrics==0.17.0 oslo.middleware==8.2.0 oslo.policy==6.0.1 oslo.privsep==3.12.0 oslo.reports==3.9.0
oslo.rootwrap==7.10.0 oslo.serialization==5.11.0 oslo.service==4.8.0 oslo.upgradecheck==2.8.0 oslo.utils==10.2.0
oslo.versionedobjects==3.12.0 oslo.vmware==4.10.1 osprofiler==4.4.0 os_vif==5.3.0 ovs==4.0.0 ovsdbapp==3.0.0
packaging==26.3 paramiko==5.1.0 Paste==3.10.1 PasteDeploy==3.1.0 pbr==7.1.3 pecan==1.8.0 platformdirs==4.14.5
prettytable==3.18.0 prometheus_client==0.26.0 prompt_toolkit==3.0.53 psutil==7.2.2 pyasn1==0.6.5 pyasn1_modules==0.4.2
pycadf==4.1.0 pycparser==3.12 pydot==4.0.1 Pygments==2.21.0 PyJWT==2.15.1 PyMySQL==1.2.4 PyNaCl==1.6.2
pyOpenSSL==26.4.0 pyparsing==3.3.3 pyperclip==1.11.0 pyroute2==0.9.7 pysaml2==7.5.5 python-barbicanclient==7.6.0
python-cinderclient==9.10.0 python-dateutil==4.0.0 python-designateclient==7.0.0 python-glanceclient==4.13.0
python-keystoneclient==6.0.0 python-neutronclient==14.0.0 python-novaclient==18.13.1 pytz==2026.6 pyudev==0.24.5
PyYAML==6.0.3 redis==8.1.0 referencing==0.37.0 repoze-lru==0.8 requests==2.34.2 retrying==1.4.2 rfc3986==2.0.0
rich-argparse==1.8.0 rich==15.0.0 Routes==2.5.1 rpds-py==2026.9.1 rtslib-fb==2.2.4 setproctitle==1.3.8
simplegeneric==0.8.1 six==1.17.0 sortedcontainers==2.4.0 SQLAlchemy-Utils==0.43.0 SQLAlchemy==2.1.9 statsd==4.0.1
stevedore==5.10.0 suds-community==1.2.0 tabulate==0.10.0 taskflow==6.5.0 tenacity==9.2.1 testresources==2.1.2
testscenarios==0.7.0 tooz==9.1.0 typing_extensions==4.16.0 tzdata==2026.6 urllib3==2.8.0 vine==5.1.0
voluptuous==0.16.0 warlock==2.1.0 wcwidth==0.9.4 WebOb==1.8.11 websockify==0.13.0 Werkzeug==3.1.9 wrapt==2.5.2
WSME==0.13.0 xmlschema==2.5.1 yappi==1.7.6 zipp==4.1.2 zstd==1.5.7.2
""".split()  # noqa: SIM905 - 180 lines otherwise
)
