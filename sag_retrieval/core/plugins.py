"""Registries of named parts: built-in entries and entry points of other installed packages."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, Generic, Protocol, TypeVar, cast

from sag_retrieval.core.errors import PluginError, SettingsError, nearest, shown

_log = logging.getLogger(__name__)


class _Named(Protocol):
    @property
    def name(self) -> str: ...


EntryT = TypeVar("EntryT", bound=_Named)


@cache
def every_entry_point() -> EntryPoints:
    """The entry points of all installed packages: their files are read once per process, whatever the groups."""
    return cast("EntryPoints", entry_points())  # mypy knows the form of before Python 3.12


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by name and package."""
    found = every_entry_point().select(group=group)
    return tuple(sorted(found, key=lambda point: (point.name, package_of(point))))


def package_of(point: EntryPoint) -> str:
    """Name and version of the package that adds an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"


class Registry(Mapping[str, EntryT], Generic[EntryT]):
    """Entries by name: built-in entries first, then the entry points of other packages.

    Iterating yields names and loads nothing. Looking up a name loads that entry alone, so that a broken package
    affects only users of its entry.

    Args:
        group: Entry points in which other packages add entries, such as `sag.methods`.
        own: Built-in entries; no package can replace one.
        adapt: Makes an entry of a plug-in's name and the object it names; raises TypeError or ValueError if it
            cannot.
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
            PluginError: If the package that adds it cannot be used, with its name and the reason.
        """
        if name in self.own:
            return self.own[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self._points()[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.own, *self._points()))

    def __len__(self) -> int:
        return len(self.own) + len(self._points())

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in self._points()

    def packages(self) -> tuple[str, ...]:
        """Packages that add an entry, with their versions."""
        return tuple(sorted({package_of(point) for points in self._points().values() for point in points}))

    def _points(self) -> dict[str, list[EntryPoint]]:
        """Entry points by name, without those that use the name of a built-in entry."""
        found: dict[str, list[EntryPoint]] = {}
        for point in installed(self.group):
            if point.name not in self.own:
                found.setdefault(point.name, []).append(point)
            elif point.name not in self._told:
                self._told.add(point.name)
                _log.warning(
                    "package %s adds %r to %s, which is the name of a built-in entry: the built-in one is used",
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
        except Exception as error:  # importing another package's module can raise anything
            raise PluginError(
                f"{said}, added by package {package_of(point)} as {point.value!r}, cannot be used: "
                f"{type(error).__name__}: {error}; fix or uninstall that package"
            ) from error


FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class NamedFunction(Generic[FunctionT]):
    """A function by its name for users."""

    name: str
    call: FunctionT


class Seam(Registry[NamedFunction[FunctionT]], Generic[FunctionT]):
    """Functions of one kind by name, one of which an option chooses: the default, and those of other packages."""

    def __init__(self, group: str, option: str, takes: str, **own: FunctionT) -> None:
        super().__init__(group, [NamedFunction(name, call) for name, call in own.items()], self._named)
        self._option, self._takes = option, takes

    def function(self, name: str) -> FunctionT:
        """The function of a name.

        Raises:
            SettingsError: If there is none of this name.
            PluginError: If the package that adds it cannot be used.
        """
        if name not in self:
            raise SettingsError(f"{self._option} {shown(name)} is none of {', '.join(self)}{nearest(name, self)}")
        return self[name].call

    def _named(self, name: str, found: object) -> NamedFunction[FunctionT]:
        if not callable(found):
            raise TypeError(f"{found!r} cannot be called with {self._takes}")
        return NamedFunction(name, cast("FunctionT", found))
