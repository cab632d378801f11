"""Converts tags in OpenStack filters: a list in Cluster API, one string joined by commas in the Machine API."""


def split(joined: str) -> list[str]:
    """The tags of `joined`, without empty ones.

    >>> split("a,,b")
    ['a', 'b']
    """
    return [tag for tag in joined.split(",") if tag] if joined else []


def together(*lists: list[str]) -> list[str]:
    """All tags of all `lists`, each once, in order of first appearance: a port's tags are a set.

    >>> together(["a", "b"], ["b", "c"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(tag for one in lists for tag in one))
