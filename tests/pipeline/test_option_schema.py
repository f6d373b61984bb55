"""The JSON schema of the component knows the options, the words and the form of a schedule."""

import pytest
from jsonschema import Draft202012Validator

from sag_pipeline.components.corpus import Corpus


@pytest.mark.parametrize(
    ("given", "is_right"),
    [
        ({"schedule": "hourly"}, False),
        ({"schedule": "@daily"}, True),
        ({"options": {"en_sise": 400}}, False),
        ({"options": {"en_size": -1}}, False),
        ({"options": {"idf_smoothing": "add-two"}}, False),
        ({"options": {"en_size": "400", "header.sentences": True, "align": {"by_model": False}}}, True),
        ({"tables": [{"asset": "raw", "removal": "never"}]}, False),
        ({"retry": {"max_retries": -1}}, False),
        ({"options": {"header": {"sentences": 3}, "source": {"ocr": [1]}}}, False),
    ],
)
def test_the_schema_tells_right_from_wrong(given, is_right):
    assert Draft202012Validator(Corpus.model().model_json_schema()).is_valid(given) == is_right
