"""A language model made of recorded answers, for tests of what is done with them."""

from sag_retrieval.core.errors import AnswerError
from sag_retrieval.models.protocols import Reply, Usage
from sag_retrieval.models.structured import WrongShape, read_answer


class RecordedChat:
    """Gives its answers in order; an error among them is raised, an unfit text is an `AnswerError`."""

    model_id = "recorded"

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    def ask(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        try:
            value, _ = read_answer(answer, request.answer)
        except WrongShape as error:
            raise AnswerError(str(error)) from error
        return Reply(value, Usage(calls=1, input_tokens=len(request.prompt) // 4, output_tokens=len(answer) // 4))

    def ask_all(self, requests):
        return (self.ask(request) for request in requests)
