"""What SQL may say: lists of what is let through; whatever is not on them is refused."""

from typing import Final

from sag_retrieval.release.schema import QUERYABLE

TABLES: Final = QUERYABLE

IDS: Final = ("event_id", "chunk_id", "document_id")
"""What a query may return: the ids of one table, named by their column."""

EXPRESSIONS: Final = frozenset(
    {
        "BETWEEN",
        "CASE",
        "CAST",
        "COLLATE",
        "COLUMN_REF",
        "COMPARISON",
        "CONJUNCTION",
        "CONSTANT",
        "FUNCTION",
        "OPERATOR",
        "STAR",
        "SUBQUERY",
        "TYPE",
        "WINDOW",
    }
)

NODES: Final = frozenset(
    {
        "ASCENDING",
        "BASE_TABLE",
        "DESCENDING",
        "DISTINCT_MODIFIER",
        "EMPTY",
        "EXPRESSION_LIST",
        "JOIN",
        "LIMIT_MODIFIER",
        "LIMIT_PERCENT_MODIFIER",
        "ORDER_DEFAULT",
        "ORDER_MODIFIER",
        "SELECT_NODE",
        "SET_OPERATION_NODE",
        "SUBQUERY",
    }
)

_TYPES = """BOOLEAN BOOL TINYINT SMALLINT INTEGER INT BIGINT HUGEINT FLOAT REAL DOUBLE DECIMAL NUMERIC
    VARCHAR TEXT STRING CHAR DATE TIME TIMESTAMP JSON"""
TYPES: Final = frozenset(_TYPES.split())

COLLATIONS: Final = frozenset({"nocase", "noaccent", "nfc", "binary"})

_FUNCTIONS = """+ - * / // % || ~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape
    regexp_matches regexp_full_match contains starts_with prefix ends_with suffix strpos instr position
    lower lcase upper ucase length len strlen char_length character_length
    substr substring left right trim ltrim rtrim concat
    nullif if ifnull least greatest abs round floor ceil ceiling trunc sign mod
    date_part date_trunc datediff date_diff year month day quarter week dayofweek
    to_days to_months to_years make_date strftime strptime try_strptime
    -> ->> json_extract json_extract_string json_extract_path json_extract_path_text
    json_type json_valid json_exists json_contains json_array_length json_structure
    count count_star sum avg mean min max median bool_and bool_or
    row_number rank dense_rank percent_rank"""
FUNCTIONS: Final = frozenset(_FUNCTIONS.split())
"""No function that reads a file, a setting, the clock or chance, and none that makes long text from short."""

_NOT_COLUMNS = """current_date current_time current_timestamp localtime localtimestamp current_user
    session_user user current_role current_catalog current_database current_schema"""
NOT_COLUMNS: Final = frozenset(_NOT_COLUMNS.split())
"""Names that read like columns and are functions of the clock or the connection."""
