"""The spaces that are known to exist, so that commits on a cluster need not query them."""

from collections.abc import Set


class KnownSpaces:
    """The spaces that exist at one version of the catalog. Each commit checks this version, which
    changes whenever a space is created or dropped."""

    def __init__(self) -> None:
        self._version: int | None = None
        self._spaces: set[int] = set()

    def has_all(self, version: int | None, spaces: Set[int]) -> bool:
        return not spaces or (bool(version) and version == self._version and spaces <= self._spaces)

    def add(self, version: int | None, spaces: Set[int]) -> None:
        if version:
            if version != self._version:
                self._version, self._spaces = version, set()
            self._spaces |= spaces
