"""The smallest real models in ONNX, made on the spot: a cross-encoder that counts words in common, and an embedder.

Nothing is trained. The graphs run in onnxruntime as any other model does; their tokenizer knows a hundred words.
"""

import json
from pathlib import Path

import numpy as np

WORDS = (
    "who built made the sensors of buoy heron kestrel in by was and river steel prices rose fox lives tundra".split()
)
VOCABULARY = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
_SHORTEST = 4
"""Numbers below this are no words."""


def write_tokenizer(folder: Path) -> None:
    """Words by blanks, in lower case, with [CLS] and [SEP] as BERT has them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, VOCABULARY[token]) for token in ("[CLS]", "[SEP]")],
    )
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 128, "pad_token": "[PAD]"}))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))


def write_embedder(folder: Path) -> None:
    """A row of a table for each word; their mean is the vector of a text."""
    from onnx import TensorProto, helper, numpy_helper

    write_tokenizer(folder)
    table = np.random.default_rng(0).normal(size=(len(VOCABULARY), 8)).astype(np.float32)
    ids, mask = (helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in INPUTS[:2])
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "length", 8])
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    _save(helper.make_graph(nodes, "words", [ids, mask], [out], [numpy_helper.from_array(table, "table")]), folder)


INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_cross_encoder(folder: Path) -> None:
    """How many words of the question stand in the text: pairs of equal numbers across the two parts."""
    from onnx import TensorProto, helper, numpy_helper

    write_tokenizer(folder)
    shape = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in INPUTS]
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    two = numpy_helper.from_array(np.array([2], np.int64), "two")
    least = numpy_helper.from_array(np.array(_SHORTEST, np.int64), "least")
    both = numpy_helper.from_array(np.array([1, 2], np.int64), "both")
    nodes = [
        helper.make_node("GreaterOrEqual", ["input_ids", "least"], ["is_word"]),
        helper.make_node("Cast", ["token_type_ids"], ["is_text"], to=TensorProto.BOOL),
        helper.make_node("Not", ["is_text"], ["is_question"]),
        helper.make_node("And", ["is_word", "is_text"], ["of_text"]),
        helper.make_node("And", ["is_word", "is_question"], ["of_question"]),
        helper.make_node("Unsqueeze", ["input_ids", "two"], ["down"]),
        helper.make_node("Unsqueeze", ["input_ids", "one"], ["across"]),
        helper.make_node("Equal", ["down", "across"], ["same"]),
        helper.make_node("Unsqueeze", ["of_question", "two"], ["question_down"]),
        helper.make_node("Unsqueeze", ["of_text", "one"], ["text_across"]),
        helper.make_node("And", ["same", "question_down"], ["asked"]),
        helper.make_node("And", ["asked", "text_across"], ["found"]),
        helper.make_node("Cast", ["found"], ["counted"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["counted", "both"], ["sum"], keepdims=0),
        helper.make_node("Unsqueeze", ["sum", "one"], ["logits"]),
    ]
    _save(helper.make_graph(nodes, "words_in_common", inputs, [out], [one, two, least, both]), folder)


def _save(graph: object, folder: Path) -> None:
    import onnx

    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
