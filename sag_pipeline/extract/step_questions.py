"""Questions of the steps to a language model: several of one step and language share a call."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from sag_retrieval.core.records import Document
from sag_retrieval.models.protocols import AnswerT, Request
from sag_retrieval.prompts import load_prompt, quoted

PROMPTS = "sag_pipeline.llm.prompts"


class StepQuestion:
    """A question that can share a call (a `Part`)."""

    __slots__ = ()
    step: ClassVar[str]
    language: str
    document_id: str
    source: str

    @property
    def kind(self) -> str:
        """Only questions of one kind share a call, as they share a prompt."""
        return f"{self.step} {self.language}"

    @property
    def weight(self) -> float:
        """Its share of what one call asks about; 0: nothing but the limits of a call bounds it."""
        return 0.0

    @property
    def request(self) -> Request[Any]:
        """The question as a request, alone."""
        return self.merge([self])

    def merge(self, parts: Sequence[Any]) -> Request[Any]:
        """One request for all parts."""
        raise NotImplementedError

    def asked(
        self, answer: type[AnswerT], parts: Sequence["StepQuestion"], said: Iterable[str], **texts: object
    ) -> Request[AnswerT]:
        """The request for all parts: `said` is what its answer depends on, `texts` fill the prompt."""
        prompt = load_prompt(self.step, self.language, PROMPTS)
        return Request(
            prompt.fill(**texts),
            answer,
            self.step,
            prompt.system,
            self.document_id if len({part.document_id for part in parts}) == 1 else "",
            identity="\x1f".join((prompt.version, *said)),
            part=self if len(parts) == 1 else None,  # type: ignore[arg-type]  # `split` is each one's own
        )


def prompt_language(document: Document, language: str) -> str:
    """The language of a document's prompts: the document's own, unless the setting names one."""
    return document.language if language == "auto" else language


def heading_of(document: Document, summary: str) -> str:
    """The line above a document's passages in a prompt: its title and summary as data, if there are any."""
    said = {"title": document.title, "summary": summary}
    return " ".join(f"{name} {quoted(text)}" for name, text in said.items() if text)
