"""Registries: the parts of one kind by name, our own and those that other installed packages add."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from sag_retrieval.core.errors import PluginError

_log = logging.getLogger(__name__)


class Named(Protocol):
    """An entry of a registry."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...


EntryT = TypeVar("EntryT", bound=Named)


@cache
def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by name and package; looked up once in a process."""
    return tuple(sorted(entry_points(group=group), key=lambda point: (point.name, package_of(point))))


def package_of(point: EntryPoint) -> str:
    """Name and version of the package that adds an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


class Registry(Mapping[str, EntryT], Generic[EntryT]):
    """Entries by name; our own come first, those of other packages are found by entry points.

    Iterating gives names and loads nothing. Looking up a name loads that entry alone, so that a broken package
    disturbs only those who ask for its entry.

    Args:
        group: Entry points in which other packages add entries, such as `sag.methods`.
        own: Our own entries; no package can replace one.
        adapt: From a plug-in's name and the object it names to the entry; raises TypeError or ValueError if it
            cannot be one.

    """

    def __init__(self, group: str, own: Iterable[EntryT], adapt: Callable[[str, object], EntryT]) -> None:
        self.group = group
        self.own: Mapping[str, EntryT] = {entry.name: entry for entry in own}
        self._adapt = adapt
        self._loaded: dict[str, EntryT] = {}
        self._told: set[str] = set()

    def __getitem__(self, name: str) -> EntryT:
        """The entry of a name.

        Raises:
            KeyError: If there is none.
            PluginError: If the package that adds it cannot be used, with its name and the fault.

        """
        if name in self.own:
            return self.own[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._points()[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        """Names: our own in their order, then those of other packages."""
        return iter((*self.own, *self._points()))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.own) + len(self._points())

    def __contains__(self, name: object) -> bool:
        """Whether there is an entry of this name; nothing is loaded."""
        return name in self.own or name in self._points()

    def packages(self) -> tuple[str, ...]:
        """Packages that add an entry, with their versions."""
        return tuple(sorted({package_of(point) for points in self._points().values() for point in points}))

    def _points(self) -> dict[str, list[EntryPoint]]:
        """Entry points by name, without those that claim a name of ours."""
        found: dict[str, list[EntryPoint]] = {}
        for point in installed(self.group):
            if point.name not in self.own:
                found.setdefault(point.name, []).append(point)
            elif point.name not in self._told:
                self._told.add(point.name)
                _log.warning(
                    "package %s adds %r to %s, which is a name of sag's own: ours is used",
                    package_of(point),
                    point.name,
                    self.group,
                )
        return found

    def _load(self, points: list[EntryPoint]) -> EntryT:
        point = points[0]
        said = f"{point.name!r} of {self.group}"
        if len(points) > 1:
            packages = " and ".join(package_of(each) for each in points)
            raise PluginError(f"{said} is added by {packages}; uninstall all but one")
        try:
            return self._adapt(point.name, point.load())
        except Exception as error:  # a module of others raises anything while it is imported
            raise PluginError(
                f"{said}, added by package {package_of(point)} as {point.value!r}, cannot be used: "
                f"{type(error).__name__}: {error}; mend or uninstall that package"
            ) from error
