"""A language model that answers from a script, for walks with a judge."""

import pytest

from sag_retrieval.core.errors import AnswerError
from sag_retrieval.models.protocols import Reply


class ScriptedChat:
    """Answers each step with the next of its scripted values; an exception among them is raised."""

    model_id = "scripted"

    def __init__(self, **script):
        self.script = {step: list(values) for step, values in script.items()}
        self.requests = []

    def ask(self, request):
        self.requests.append(request)
        values = self.script.get(request.step) or [AnswerError("nothing scripted")]
        value = values.pop(0) if len(values) > 1 else values[0]
        if isinstance(value, Exception):
            raise value
        return Reply(request.answer.model_validate(value))

    def ask_all(self, requests):
        yield from (self.ask(request) for request in requests)


@pytest.fixture
def scripted():
    return ScriptedChat
