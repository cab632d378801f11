"""Converts AWS tags: a map in Cluster API, a list in the Machine API."""

from windlass.api import mapi_aws


def tag_list(tags: dict[str, str]) -> list[mapi_aws.Tag]:
    """`tags` as a list sorted by name, so that equal maps give equal lists."""
    return [mapi_aws.Tag(name=name, value=tags[name]) for name in sorted(tags)] if tags else []


def tag_map(tags: list[mapi_aws.Tag]) -> dict[str, str]:
    """`tags` as a map. Of several tags with the same name, the last one after sorting by name wins."""
    return {tag.name: tag.value for tag in sorted(tags, key=_name)} if tags else {}


def _name(tag: mapi_aws.Tag) -> str:
    return tag.name
