"""Reads kubeconfig files and merges them into one.

`load` interprets the entries. The first file that uses a name (of a cluster, user or context) or sets `current-context`
wins. Entries are taken whole: fields of a later entry of the same name are ignored. Each entry keeps the name of its
file, because its paths are relative to it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml
from msgspec import Struct, field

from windlass.api.meta import without_nulls
from windlass.kube import decoding, yaml_reader
from windlass.kube.errors import ConfigError

E = TypeVar("E")


class Extension(Struct, frozen=True):
    name: str = ""
    extension: Any = None


class KubeconfigCluster(Struct, rename="kebab", frozen=True):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[Extension] = field(default_factory=list)


class EnvVar(Struct, frozen=True):
    name: str
    value: str = ""


class Exec(Struct, rename="camel", frozen=True):
    command: str = ""
    args: list[str] = field(default_factory=list)
    env: list[EnvVar] = field(default_factory=list)
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(Struct, frozen=True):
    name: str = ""
    config: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<AuthProvider {self.name}>"


class User(Struct, rename="kebab", frozen=True):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_user: str = field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = field(default_factory=list)
    as_user_extra: dict[str, list[str]] = field(default_factory=dict)
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None

    def __repr__(self) -> str:
        return "<User>"


class Context(Struct, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class Named(Struct, Generic[E], frozen=True):
    """A named entry and where it stands, as `where` for messages: `/home/me/.kube/config: users['admin']`."""

    name: str
    value: E
    file: Path
    where: str

    def path(self, text: str) -> Path:
        """`text` as a path, relative to the file of this entry."""
        return self.file.parent / Path(text).expanduser()


class Kubeconfig(Struct):
    """The merge of all files. `files` are those that were read, in order."""

    files: list[Path] = field(default_factory=list)
    current_context: str = ""
    clusters: dict[str, Named[KubeconfigCluster]] = field(default_factory=dict)
    users: dict[str, Named[User]] = field(default_factory=dict)
    contexts: dict[str, Named[Context]] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return ", ".join(map(str, self.files))


def read(files: Iterable[Path]) -> Kubeconfig:
    """All of `files`, merged. Raises ConfigError for a file that cannot be read or is not a kubeconfig."""
    merged = Kubeconfig()
    for file in files:
        top = _document(file)
        merged.files.append(file)
        merged.current_context = merged.current_context or _text(top, "current-context", file)
        _merge(merged.clusters, _entries(top, "clusters", "cluster", KubeconfigCluster, file=file))
        _merge(merged.users, _entries(top, "users", "user", User, file=file))
        _merge(merged.contexts, _entries(top, "contexts", "context", Context, file=file))
    return merged


def _merge(into: dict[str, Named[E]], entries: Iterable[Named[E]]) -> None:
    for entry in entries:
        into.setdefault(entry.name, entry)


def _document(file: Path) -> dict[str, Any]:
    try:
        top = yaml_reader.load(file.read_bytes(), unique_keys=True)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        problem, mark = yaml_reader.problem_of(error)
        place = f", line {mark.line + 1}" if mark is not None else ""
        raise ConfigError(f"{file}{place}: is not YAML: {problem}") from None
    if top is None:
        return {}
    if not isinstance(top, dict) or top.get("kind", "Config") != "Config":
        raise ConfigError(f"{file}: is not a kubeconfig (kind: Config)")
    cleaned: dict[str, Any] = without_nulls(top)
    return cleaned


def _text(top: dict[str, Any], key: str, file: Path) -> str:
    value = top.get(key, "")
    if not isinstance(value, str):
        raise ConfigError(f"{file}: {key}: must be text; put it in quotes")
    return value


def _entries(top: dict[str, Any], plural: str, singular: str, shape: type[E], *, file: Path) -> Iterable[Named[E]]:
    listed = top.get(plural, [])
    if not isinstance(listed, list):
        raise ConfigError(f"{file}: {plural}: must be a list")
    for position, item in enumerate(listed):
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise ConfigError(f"{file}: {plural}[{position}].name: is missing or not text; put it in quotes")
        name = item["name"]
        where = f"{file}: {plural}[{name!r}]"
        try:
            value = decoding.convert(item.get(singular, {}), shape)
        except msgspec.ValidationError as error:
            reason, _, at = str(error).partition(" - at `$")
            at = at.rstrip("`")
            raise ConfigError(f"{where}.{singular}{at}: {reason[:1].lower()}{reason[1:]}") from None
        yield Named(name, value, file, where)
