"""Dagster configuration generated from options classes, so that each name, default and description is written once."""

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

import dagster as dg
from pydantic import Field, create_model

from sag_retrieval.core.options import Option, as_text, options_of, presets_of

_PARTS = "_parts"
"""Suffix of a group's configuration where the group's own name takes a preset."""


def config_fields(options: type, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Pydantic fields for every option of a class; groups become nested configurations."""
    found: dict[str, Any] = {}
    groups: dict[str, list[Option]] = {}
    presets = {option.name for option in options_of(options) if presets_of(option.hint)}
    for option in options_of(options):
        group, dot, _ = option.name.partition(".")
        if group in without:
            continue
        if dot:
            groups.setdefault(group, []).append(option)
        else:
            found[option.name] = _field(option)
    for group, inside in groups.items():
        is_part = group in presets
        name = f"{group}{_PARTS}" if is_part else group
        parts = {option.name.partition(".")[2]: _field(option, is_left_open=is_part) for option in inside}
        model = create_model(f"{options.__name__}_{name}", __base__=dg.Config, **parts)
        found[name] = (model, Field(default=model(), description=f"Options of {group}."))
    return found


def given_options(config: Any, names: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401  a Dagster configuration
    """The values of a configuration as `build_options` takes them."""
    found: dict[str, Any] = {}
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, dg.Config):
            found[name] = value
            continue
        is_part = name.endswith(_PARTS)
        inside = {part: getattr(value, part) for part in type(value).model_fields}
        chosen = {part: each for part, each in inside.items() if not (is_part and each is None)}
        found |= {f"{name.removesuffix(_PARTS)}.{part}": each for part, each in chosen.items()}
    return found


def run_config(options: object) -> dict[str, Any]:
    """The configuration that gives these options, defaults left out, in the form of `config_fields`."""
    usual = {option.name: option for option in options_of(type(options))}
    presets = {name for name, option in usual.items() if presets_of(option.hint)}
    found: dict[str, Any] = {}
    for option in options_of(options):
        if option.name in presets or option.default == usual[option.name].default:
            continue
        group, dot, part = option.name.partition(".")
        value = _in_config(option)
        if dot:
            found.setdefault(f"{group}{_PARTS}" if group in presets else group, {})[part] = value
        else:
            found[option.name] = value
    return found


def _in_config(option: Option) -> Any:  # noqa: ANN401  any value that Dagster takes
    value = option.default
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, bool | int | float | str) else as_text(value)


def _field(option: Option, *, is_left_open: bool = False) -> Any:  # noqa: ANN401  a pydantic field
    """Type and default of one field; with `is_left_open`, None means the preset's value."""
    kind, default = _plain(option)
    description = f"{option.meaning.rstrip('.')}. {option.expects.capitalize()}."
    if is_left_open:
        return (kind | None, Field(default=None, description=f"{description} None: the value of the preset."))
    return (kind, Field(default=default, description=description))


def _plain(option: Option) -> tuple[Any, Any]:
    """A type that Dagster knows, and the default as a value of it."""
    presets = presets_of(option.hint)
    if presets is not None:
        return Literal[tuple(presets.named)], option.default
    hint = getattr(option.hint, "__origin__", option.hint) if hasattr(option.hint, "__metadata__") else option.hint
    if get_origin(hint) is tuple:
        return list[str], list(option.default)
    arms = [getattr(arm, "__origin__", arm) if hasattr(arm, "__metadata__") else arm for arm in get_args(hint)]
    if type(None) in arms:
        inner = next(arm for arm in arms if arm is not type(None))
        return (inner | None, option.default) if inner in (bool, int, float, str) else (str, _text(option.default))
    return hint, option.default


def _text(value: object) -> str:
    return "" if value is None else as_text(value)
