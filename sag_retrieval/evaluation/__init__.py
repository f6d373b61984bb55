"""How well methods find and modes answer: metrics, intervals, and the run over a file of questions."""

from sag_retrieval.evaluation.answers import (
    ANSWER_SCORES,
    RECORD_SCORES,
    AnswersEvaluation,
    Evaluator,
    evaluate_answers,
    evaluators,
)
from sag_retrieval.evaluation.questions import Question, read_questions
from sag_retrieval.evaluation.runner import Evaluation, Interval, bootstrap, compare, evaluate, paired_difference

__all__ = [  # noqa: RUF022  in the order of use
    # questions
    "Question", "read_questions",
    # a method
    "Evaluation", "compare", "evaluate",
    # a mode
    "AnswersEvaluation", "evaluate_answers",
    # records of a pipeline
    "ANSWER_SCORES", "RECORD_SCORES", "Evaluator", "evaluators",
    # how sure
    "Interval", "bootstrap", "paired_difference",
]  # fmt: skip
