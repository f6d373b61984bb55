"""Normal names of many values at once."""

import pyarrow as pa
import pyarrow.compute as pc

from sag_retrieval.text.words import normal_name

_PLAIN = r"^(?:[0-9A-Za-z]+(?: [0-9A-Za-z]+)*|[\x{4e00}-\x{9fff}]+)$"
"""ASCII letters and digits with single spaces between, or Chinese characters alone: folding lowers the case."""


def normal_names(values: pa.ChunkedArray) -> pa.Array:
    """`normal_name` of each value, empty for null; only what is not plain is looked at one by one."""
    whole = pc.fill_null(values, "").combine_chunks()
    is_odd = pc.and_(pc.invert(pc.match_substring_regex(whole, _PLAIN)), pc.not_equal(whole, ""))
    odd = whole.filter(is_odd)
    distinct = odd.dictionary_encode()
    named = pa.array([normal_name(value) for value in distinct.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(pc.ascii_lower(whole), is_odd, named.take(distinct.indices))
