"""The settings of the contract: environment or `.env`, checked before any work starts."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from dotenv import dotenv_values
from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from sag_retrieval.core.errors import SettingsError, nearest, shown
from sag_retrieval.core.settings import CHAT_MODELS, EMBEDDERS, HASHING, OFFLINE, checked, described

ENV_FILE = ".env"
"""Read in the working directory; the environment wins over it."""
_OURS = ("SAG_", "OPENAI_")


def _chat_model(name: str) -> str:
    return checked(CHAT_MODELS, name)


def _embedding_model(name: str) -> str:
    return checked(EMBEDDERS, name)


class Settings(BaseSettings):
    """Where things lie and which models work; everything else is an option of the operation that uses it."""

    model_config = SettingsConfigDict(env_prefix="SAG_", env_file=ENV_FILE, extra="ignore", frozen=True)

    home: Path = Field(default=Path("data"), description="where tables, cache, releases and reports live")
    source: str = Field(default="data/documents", description="what `ingest` reads when no source is given")
    source_roots: str = Field(
        default="",
        description="folders below which sources must lie, separated as in PATH; without any, runs started from the "
        "Dagster page read `SAG_SOURCE` alone",
    )
    chat_model: Annotated[str, AfterValidator(_chat_model)] = Field(default=OFFLINE, description=described(CHAT_MODELS))
    embedding_model: Annotated[str, AfterValidator(_embedding_model)] = Field(
        default=HASHING, description=described(EMBEDDERS)
    )
    language: Literal["auto", "zh", "en"] = Field(default="auto", description="language of the prompts")


def load_settings(**given: object) -> Settings:
    """The settings in force; `given` wins over the environment, which wins over `.env`.

    Example:
        >>> load_settings(language="zh").language
        'zh'

    Raises:
        SettingsError: If a value is out of bounds, with its name, value and bound, or a name is unknown.

    """
    for name in given:
        if name not in Settings.model_fields:
            known = ", ".join(Settings.model_fields)
            raise SettingsError(f"setting {shown(name)} is none of {known}{nearest(name, Settings.model_fields)}")
    read_env_file()
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        faults = "; ".join(
            f"SAG_{str(fault['loc'][0]).upper()}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors()
        )
        raise SettingsError(f"{faults}. `sag settings` shows every setting with its origin") from error


def read_env_file() -> Mapping[str, str]:
    """The variables of `.env` that are ours, as they are written there.

    Raises:
        SettingsError: If the file cannot be read, or one of them takes up another variable: a file may not carry what
            is in the environment into a name or an address that is sent elsewhere.

    """
    try:
        values = dotenv_values(ENV_FILE, interpolate=False)
    except (OSError, ValueError) as error:
        raise SettingsError(f"`{ENV_FILE}` in the working directory cannot be read: {error}") from error
    ours = {name.upper(): value or "" for name, value in values.items() if name.upper().startswith(_OURS)}
    for name, value in ours.items():
        if "${" in value:
            raise SettingsError(f"{name} in `{ENV_FILE}` refers to another variable; write the value itself there")
    return ours


def origins() -> list[dict[str, str]]:
    """Each setting, right or wrong: name, value, where from (environment, `.env` or default) and meaning."""
    from_file = read_env_file()
    found = []
    for name, field in Settings.model_fields.items():
        variable = f"SAG_{name.upper()}"
        origin = "environment" if variable in os.environ else ENV_FILE if variable in from_file else "default"
        value = os.environ.get(variable, from_file.get(variable, str(field.default)))
        found.append({"name": variable, "value": value, "origin": origin, "meaning": field.description or ""})
    return found
