"""Open the models that settings name, with the server address and key to use."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sag_retrieval.core.errors import SettingsError
from sag_retrieval.core.secrets import keep_secret
from sag_retrieval.core.settings import (
    CHAT_MODELS,
    EMBEDDERS,
    ENV_FILE,
    HASHING,
    Provider,
    Settings,
    provider_of,
    read_env_file,
)
from sag_retrieval.models.protocols import ChatModel, Embedder
from sag_retrieval.models.rate_limits import ChatOptions

ADDRESS, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
DEFAULT_ADDRESS = "https://api.openai.com/v1"
_HEADERS = "OPENAI_CUSTOM_HEADERS"
_ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """The address of a model server and the credentials for it."""

    address: str = DEFAULT_ADDRESS
    key: str = field(default="", repr=False)
    organization: str = ""
    project: str = ""
    address_from: str = "default"
    key_from: str = "default"
    fault: str = ""
    """Why address and key must not be used together; empty if they may."""


def find_server() -> ModelServer:
    """The current address and key, from the environment or `.env`, and whether they may be used together.

    An address is used only with a key of the same origin, so that no file can redirect a key. Without an address the
    default one is used, with the key of the environment or else of `.env`.
    """
    file = {name: value for name, value in read_env_file().items() if name.startswith("OPENAI_") and value}
    places: dict[str, Mapping[str, str]] = {_ENVIRONMENT: _exported(file), ENV_FILE: file}
    address_from = _first_with(ADDRESS, places)
    key_from = address_from if KEY in places.get(address_from, {}) else _first_with(KEY, places)
    address = places[address_from][ADDRESS] if address_from in places else DEFAULT_ADDRESS
    given = places.get(key_from, {})
    return ModelServer(
        address=address,
        key=keep_secret(given.get(KEY, "")),
        organization=given.get("OPENAI_ORG_ID", ""),
        project=given.get("OPENAI_PROJECT_ID", ""),
        address_from=address_from,
        key_from=key_from,
        fault=_fault(address, address_from, key_from),
    )


def model_server() -> ModelServer:
    """The current address and key."""
    found = find_server()
    if found.fault:
        raise SettingsError(found.fault)
    return found


def shown_server() -> list[dict[str, str]]:
    """Address and key as rows of `sag settings`: the origin of each, never the key itself."""
    found = find_server()
    unused = "not used: " if found.fault else ""
    key = f"{unused}set" if found.key else "not set"
    return [
        {
            "name": ADDRESS,
            "value": f"{unused}{_without_password(found.address)}",
            "origin": found.address_from,
            "meaning": "address of the model server; counts only with a key from the same place",
        },
        {
            "name": KEY,
            "value": key,
            "origin": found.key_from,
            "meaning": found.fault or "key of the model server; a local one takes any",
        },
    ]


def _exported(file: Mapping[str, str]) -> Mapping[str, str]:
    """The variables of the environment; those that `dagster dev` copied from `.env` count as the file's."""
    exported = {name: value for name, value in os.environ.items() if name.startswith("OPENAI_") and value}
    pair = [name for name in (ADDRESS, KEY) if name in file]
    if pair and all(exported.get(name) == file[name] for name in pair):
        return {name: value for name, value in exported.items() if file.get(name) != value}
    return exported


def _first_with(name: str, places: Mapping[str, Mapping[str, str]]) -> str:
    return next((place for place, given in places.items() if name in given), "default")


def _fault(address: str, address_from: str, key_from: str) -> str:
    if not _is_web(address):
        return f"{ADDRESS} {_without_password(address)!r} is no http:// or https:// address"
    if "default" not in (address_from, key_from) and address_from != key_from:
        return (
            f"{ADDRESS} comes from {_place(address_from)}, {KEY} from {_place(key_from)}: a key is sent only to an "
            f"address from the same place; set both in {_place(address_from)}, or remove the address there"
        )
    if address_from == ENV_FILE and os.environ.get(_HEADERS, "") not in ("", read_env_file().get(_HEADERS)):
        return f"{_HEADERS} of the environment would be sent to the address of {_place(ENV_FILE)}; unset it"
    return ""


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and address.isprintable()


def _place(name: str) -> str:
    return "the environment" if name == _ENVIRONMENT else f"`{name}`"


def _without_password(address: str) -> str:
    before, at, host = address.rpartition("@")
    return f"{before.partition('//')[0]}//…@{host}" if at else address


def open_chat(settings: Settings, options: ChatOptions | None = None) -> ChatModel | None:
    """The language model of the settings; None for `offline`: rules are used instead."""
    chat: ChatModel | None = _open(*provider_of(CHAT_MODELS, settings.chat_model), options)
    return chat


def open_embedder(name: str, folder: Path) -> Embedder:
    """The embedder of a release: `name` from its manifest, `folder` with the counts of `hashing`."""
    if name == HASHING:
        from sag_retrieval.models.hashing import HashingEmbedder, HashingFit  # noqa: PLC0415  only needed to embed

        return HashingEmbedder(HashingFit.load(folder))
    return open_dense(name)


def open_dense(name: str, options: ChatOptions | None = None) -> Embedder:
    """An embedder that needs no counts of a release: any of `EMBEDDERS` except `hashing`, with its adjustments."""
    from sag_retrieval.models.embedder_names import AdjustedEmbedder, split_name  # noqa: PLC0415  only needed to embed

    if name == HASHING:
        raise SettingsError(f"{name!r} needs the counts of a corpus; see `open_embedder`")
    model, adjusted = split_name(name)
    provider, of_provider = provider_of(EMBEDDERS, model)
    if unknown := sorted(set(adjusted.sizes) - set(provider.sizes)):
        raise SettingsError(f"{name!r}: {provider.name} takes no {' and no '.join(unknown)}")
    embedder: Embedder = _open(provider, of_provider, options, **adjusted.sizes)
    return AdjustedEmbedder(embedder, adjusted) if adjusted.identity else embedder


def _open(provider: Provider, model: str, options: ChatOptions | None, **sizes: int) -> Any:  # noqa: ANN401  any model of the provider
    given = (model,) if provider.model else ()
    named: dict[str, Any] = {"options": options} if provider.takes_options else {}
    return provider.open(*given, **named, **sizes)
