"""The words of a report by language."""

from sag_retrieval.reports.wording import Messages
from sag_retrieval.reports.wording_en import EN
from sag_retrieval.reports.wording_zh import ZH


def messages_for(language: str) -> Messages:
    """The words for `zh`, else the English ones."""
    return ZH if language.startswith("zh") else EN
