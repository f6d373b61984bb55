"""Tiered retrieval over a release for a conversation: what `Release.retrieve` does."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from sag_retrieval.core.errors import QueryError, shown
from sag_retrieval.core.options import build_options
from sag_retrieval.models.protocols import ChatModel
from sag_retrieval.release.reader import Reader
from sag_retrieval.search.method import Allowed, Query
from sag_retrieval.search.methods.tiers.method import categories_of
from sag_retrieval.search.methods.tiers.options import TiersOptions
from sag_retrieval.search.methods.tiers.result import TiersResult, result_of
from sag_retrieval.search.methods.tiers.source import ReleaseTiers
from sag_retrieval.search.methods.tiers.workflow import Turn, question_text, retrieve, stand_alone

Conversation = str | Sequence[str | Mapping[str, Any]]
"""A question, or turns of a conversation as chat models take them: `{"role": …, "content": …}`."""
_USER: Final = "user"
_SPOKEN: Final = (_USER, "assistant")
"""Roles whose turns a question may refer to; others hold instructions."""


def retrieve_tiers(
    reader: Reader,
    messages: Conversation,
    allowed: Allowed | None = None,
    options: TiersOptions | Mapping[str, Any] | None = None,
    *,
    method: Literal["rag", "llm"] | None = None,
    chat: ChatModel | None = None,
) -> TiersResult:
    """Categories, events and documents of a release for the last turn of a conversation.

    Args:
        reader: The release.
        messages: See `Conversation`.
        allowed: What a restriction leaves.
        options: Options, or names and values.
        method: Replaces that of the options.
        chat: Judges and rewrites; without one, rules and vectors do.

    Raises:
        QueryError: If there is no question, it is too long, or the last turn is not of the user.
        RecordError: If a message has an unknown form.
        SettingsError: If an option is unknown or out of bounds.
    """
    chosen = build_options(TiersOptions, options, what="tiers")
    if method is not None:
        chosen = build_options(TiersOptions, {"method": method}, what="tiers", base=chosen)
    turns = turns_of(messages)
    question, earlier = turns[-1].text, turns[:-1]
    Query(question)  # its checks are those of every query
    index = reader.index
    source = ReleaseTiers(index, categories_of(index, reader.folder, chosen.categories), allowed)
    response = retrieve(
        [turn.text for turn in turns],
        source,
        chosen,
        chat=chat,
        rewrite=lambda asked: stand_alone(index, asked, earlier, allowed),
    )
    return result_of(response, reader.manifest.release_id)


def turns_of(messages: Conversation, *, is_asked: bool = True) -> list[Turn]:
    """The turns of user and assistant; `is_asked`: the last one is the question.

    Raises:
        QueryError: If there is none, one is empty, or the last is not of the user.
        RecordError: If a message has an unknown form.
    """
    listed = [messages] if isinstance(messages, str | Mapping) else messages
    if not isinstance(listed, Sequence):
        raise QueryError(f"messages must be a question or a list of messages, got {shown(messages)}")
    spoken = [(_role(message), message) for message in listed]
    turns = [Turn(question_text(message), role == _USER) for role, message in spoken if role in _SPOKEN]
    if not is_asked:
        return turns
    if not turns:
        raise QueryError("no question given; the last message must be one of the user")
    if not turns[-1].is_user:
        raise QueryError("the last message is of the assistant; it must be the user's question")
    return turns


def _role(message: object) -> str:
    role = message.get("role", _USER) if isinstance(message, Mapping) else _USER
    return role if isinstance(role, str) else _USER
