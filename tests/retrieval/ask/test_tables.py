"""Questions that rows of tables answer: counts, sums, averages, the most, what is next, lists; each with its SELECT."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console

from sag_retrieval import Release, open_release
from sag_retrieval.ask import AskOptions
from sag_retrieval.ask.table_question import form_of
from sag_retrieval.cli.main import main
from sag_retrieval.cli.printing import show_answer
from sag_retrieval.core.errors import QueryError
from tests.support.chat_server import ChatServer
from tests.support.opened_release import opened_release

ORDERS = """# Orders

| Order | Customer | Ordered | Total (EUR) | Paid | Delivery |
|---|---|---|---|---|---|
| PO-1 | Vale Brewery | 2024-11-05 | 1,200 | yes | late |
| PO-2 | Vale Brewery | 2025-02-11 | 800 | no | pending |
| PO-3 | Nettle Farm | 2025-03-02 | 2,500 | yes | late |
| PO-4 | Nettle Farm | 2025-07-19 | - | no | pending |
"""
ACTIONS = """# Yard meeting

## Actions

| No. | Action | Owner | Due | Status |
|---|---|---|---|---|
| 1 | Replace the seals of all lids | Ann Lee | 2025-04-10 | open |
| 2 | Send the claim to the insurer | Bo Marsh | 2025-03-27 | done |
| 3 | Get two quotes for wind machines | Cy Stone | 2025-05-15 | open |
"""
CONTRACTS = "合同,供应商,金额（元）,状态\nH-1,金源,100,已交货\nH-2,蓝海,300,未交货\nH-3,金源,500,未交货\n"
TASKS = "任务,执行人,完成日期,进展\n预订礼堂,李安,2025-03-05,进行中\n订购鲜花,高博,2025-04-01,已结束\n租借桌椅,李安,2025-06-30,进行中\n"
PRICES = "| Item | Price |\n|---|---|\n| Seal | 3 EUR |\n| Ring | 4 USD |\n| Bolt | 5 EUR |\n"
EXPORTS = """| Shipment | Buyer | Amount | Currency |
|---|---|---|---|
| S-1 | Halden | 900 | EUR |
| S-2 | Halden | 400 | EUR |
| S-3 | Bluebird | 700 | USD |
"""
"""Amounts whose currency stands in a column of its own."""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Tables in two formats and languages."""
    files = {"orders.md": ORDERS, "任务.csv": TASKS, "prices.md": PRICES, "exports.md": EXPORTS}
    yield from opened_release(tmp_path_factory, {**files, "yard.md": ACTIONS, "合同.csv": CONTRACTS})


STATEMENT = "客户,浴巾(件),应收金额(元),收款状态\n金沙酒店,3900,25320,未收\n湘湖度假村,7600,45030,部分收款\n云栖山居,3500,23160,已收\n"
FEES = "Invoice,Customer,Billed,Net (GBP),Paid on\nI-1,Carrick Hotels,January,100,2026-02-03\nI-2,Moor Inns,February,70,\nI-3,Carrick Hotels,February,50,\nI-4,Carrick Hotels,March,30,\nI-5,Moor Inns,April,20,\n"
TRIPS = "Job,Trip,Date,Seats,Price (£),Deposit\n7,Chester,2026-08-02,30,500,yes\n3,York,2026-09-01,40,600,yes\n9,York,2026-08-09,30,400,no\n"
DUTIES = "# 例会\n\n| 事项 | 责任人 | 期限 | 状态 |\n|---|---|---|---|\n| 修锅炉 | 李宁 | 2026-04-02 | 已完成 |\n| 装报警 | 蒋雯 | 2026-05-09 | 进行中 |\n| 签合同 | 李宁 | 2026-05-20 | 逾期 |\n"


@pytest.fixture(scope="module")
def plants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Tables in folders, each about one plant, which no table names."""
    minutes = {f"hz/{month}月.md": f"# 萧山工厂{month}月例会\n\n陆建明主持。\n" for month in (1, 2)}
    files = {
        "hz/对账单.csv": STATEMENT,
        "hz/清单.md": DUTIES,
        "leeds/fees.csv": FEES,
        "leeds/trips.csv": TRIPS,
        **minutes,
    }
    yield from opened_release(tmp_path_factory, files)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("三家客户的应收金额合计是多少？", "93,510 CNY"),
        ("哪些客户的款还没收？", "金沙酒店"),
        ("浴巾洗得最多的客户是哪一家？", "湘湖度假村：7,600"),
        ("还有哪些事项没有完成？", "装报警[1]；签合同[2]"),
        ("萧山工厂有哪些事项逾期？", "签合同"),
        ("5月以后到期的事项有哪些？", ""),
        ("应收金额高于3万元的客户有几家？", "1：湘湖度假村"),
        ("金沙的应收金额一共是多少？", "25,320 CNY"),
        ("What is the net total of the Carrick invoices for January to March?", "180 GBP"),
        ("Which invoices have not been paid yet?", "I-2 – 70 GBP [1]; I-3 – 50 GBP [2]"),
        ("Which actions are unfinished in Leeds?", ""),
        ("How many invoices did Moor Inns get?", "2: I-2 [1]; I-5 [2]"),
        ("Which trips take place in August?", "Chester (7) [1]; York (9) [2]"),
        ("What is the total of seats to York?", "70"),
        ("How many jobs go to York?", "2: 3 [1]; 9 [2]"),
        ("Which trips have no deposit?", "York (9) [1]"),
        ("What is the net total of the Kessler invoices?", ""),
    ],
)
def test_parts_of_names_states_in_other_words_and_what_a_folder_is_about_explain_a_question(plants, question, told):
    answer = plants.ask(question, options=AskOptions(today="2026-07-01"))

    assert (told in answer.text and answer.sql) if told else not answer.sql


@pytest.mark.parametrize(
    ("question", "begins", "cited"),
    [
        ("How many orders are late?", "2: PO-1 [1]; PO-3 [2]", 2),
        ("How many orders above 1000 euros were ordered in 2025?", "1: PO-3", 1),
        ("How many customers ordered since January 2025?", "2: ", 3),
        ("What was the average total since December?", "1,650 EUR: PO-2", 2),
        ("3月以后要完成的任务有几项？", "2：订购鲜花[1]；租借桌椅[2]", 2),
        ("What is the total of the orders of Vale Brewery?", "2,000 EUR: PO-1 – 1,200 EUR [1]; PO-2 – 800 EUR [2]", 2),
        ("Which customer ordered the most in total?", "Nettle Farm: 2,500 EUR", 1),
        ("Which order has the highest total?", "PO-3: 2,500 EUR", 1),
        ("List the unpaid orders and their customers.", "PO-2: Vale Brewery [1]; PO-4: Nettle Farm [2]", 2),
        ("Which orders are not late?", "PO-2 [1]; PO-4 [2]", 2),
        ("李安有几项任务在进行中？", "2：预订礼堂[1]；租借桌椅[2]", 2),
        ("下一个完成日期是哪天？", "2025-04-01：订购鲜花[1]", 1),
        ("Who has to get the quotes for wind machines?", "Get two quotes for wind machines – Cy Stone [1] (“yard", 1),
        ("By when must the seals of the lids be replaced?", "Replace the seals of all lids – 2025-04-10 [1]", 1),
        ("Which actions of Cy Stone are due in May?", "Get two quotes for wind machines – 2025-05-15 [1]", 1),
        ("Which orders are not yet paid?", "PO-2 – 800 EUR [1]; PO-4 [2]", 2),
        ("What is the total amount of the shipments per buyer?", "Bluebird: 700 USD; Halden: 1,300 EUR. S-3", 3),
        ("What is the total amount of the shipments, per currency?", "1,300 EUR + 700 USD: S-1", 3),
        ("How many orders are there by customer?", "Nettle Farm: 2; Vale Brewery: 2. PO-3", 4),
        ("哪些合同还没有交货？", "H-2[1]；H-3[2]", 2),
        ("哪些合同已经交货？", "H-1[1]", 1),
        ("各供应商的合同金额合计多少？", "蓝海：300 CNY；金源：600 CNY。", 3),
    ],
)
def test_rows_answer_and_are_cited(release, question, begins, cited):
    answer = release.ask(question, options={"today": "2025-03-31"})

    assert answer.text.replace(" – ", ": ").startswith(begins.replace(" – ", ": ")), answer.text
    assert len(answer.citations) == cited == answer.text.count("[")
    assert all(
        release.document(each.document_id).text[each.start : each.end] == each.quote for each in answer.citations
    )
    assert [{**row} for row in answer.rows] == [row for row in release.sql(answer.sql).rows if row in answer.rows]


def test_what_the_rows_do_not_tell_is_said(release):
    missing = release.ask("What is the total of the orders of Nettle Farm?")
    apart = release.ask("What is the average price of the items?")

    assert "1 row has no value." in missing.text
    assert apart.text.startswith("4 EUR + 4 USD: ")
    assert "Units differ" in apart.text
    assert apart.notes == ("Units differ; each has its own value",)


def test_amounts_of_two_currencies_are_never_added_or_compared(release):
    total = release.ask("What is the total amount of the shipments?")
    of_one = release.ask("What is the total amount of the shipments to Halden?")
    most = release.ask("Which shipment has the highest amount?")
    told = release.ask("What is the amount of shipment S-3?")

    assert total.text.startswith("1,300 EUR + 700 USD: ")
    assert of_one.text.startswith("1,300 EUR: ")
    assert most.text.startswith("S-1 – 900 EUR [1]; S-3 – 700 USD [2]")
    assert "Units differ" in most.text
    assert "Amount: 700, Currency: USD" in told.text


@pytest.mark.parametrize(
    "question",
    [
        "How many orders were cancelled?",
        "How many orders came from Norway?",
        "What is the average age of the customers?",
        "How many orders are late without a reason?",
        "取消的任务有多少项？",
        "Who has to get the quotes for solar panels?",
        "Who has to replace the seals of 9 lids?",
    ],
)
def test_a_word_that_no_cell_or_column_explains_is_not_counted_over(release, question):
    assert release.ask(question).sql == ""


def test_the_screen_joins_only_markers_that_stand_beside_each_other(capsys):
    places = ["b.csv", "a.csv", "b.csv", "b.csv"]
    cited = [
        SimpleNamespace(document_id=each, place="", marker=n, quote=f"row {n}") for n, each in enumerate(places, 1)
    ]

    show_answer(Console(), SimpleNamespace(text="4", sql="SELECT 4", citations=cited))

    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "4",
        "[1] b.csv",
        "row 1",
        "[2] a.csv",
        "row 2",
        "[3]–[4] b.csv",
    ]


def test_the_screen_shows_the_answer_and_explained_its_rows_and_sql(release):
    question = "Which orders are not late?"

    plain = CliRunner().invoke(main, ["ask", question]).output
    explained = CliRunner().invoke(main, ["ask", question, "--explain"]).output

    assert "[1]–[2] orders.md" in plain
    assert len(plain.splitlines()) <= 5
    assert "SELECT" not in plain
    assert "SELECT" in explained
    assert "PO-2 · Vale Brewery" in explained


def test_a_day_that_is_none_is_refused():
    with pytest.raises(QueryError, match="today='soon' must be a day such as 2025-06-30"):
        AskOptions(today="soon")


def test_no_sql_runs_under_a_restriction(release):
    assert release.ask("How many orders are late?", where={"document_id": "orders.md"}).sql == ""


def test_forms_are_those_that_words_ask_for():
    asked = (
        "What is the average bid?",
        "平均报价是多少？",
        "When is the next deadline?",
        "谁的报价最低？",
        "Who left?",
    )

    assert [form_of(text) for text in asked] == ["average", "average", "next", "least", None]


GIVEN = (
    'WITH given AS (SELECT document_id, table_index, row_index, min(start) AS start, max("end") AS "end", '
    "max(CASE WHEN header = 'Order' THEN text END) AS name, max(CASE WHEN header = 'Delivery' THEN text END) AS state "
    "FROM tables WHERE document_id = 'orders.md' GROUP BY document_id, table_index, row_index) "
)
UNKNOWN = "How many orders have not been delivered on time by the carrier?"


def asked_with(release, monkeypatch, replies, question=UNKNOWN):
    """The answer of a scripted server's model, and the prompts that it got."""
    prompts = []

    def script(request):
        prompts.append(request["messages"][-1]["content"])
        return replies[min(request["_n"], len(replies) - 1)]

    with ChatServer(script) as server:
        for name, value in {"SAG_CHAT_MODEL": "openai:scripted", "OPENAI_BASE_URL": server.base_url}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        with open_release(release.path.parents[1]) as opened:
            return opened.ask(question, mode="normal", options={"today": "2025-03-31"}), prompts


def test_a_model_writes_sql_and_repairs_it_once(release, monkeypatch):
    wrong = {"is_answerable": True, "sql": GIVEN + "SELECT count(*) OVER () AS answer, nme FROM given"}
    places = "SELECT count(*) OVER () AS answer, name, document_id, start, \"end\" FROM given WHERE state = 'late'"
    right = {"is_answerable": True, "sql": GIVEN + places}

    answer, prompts = asked_with(release, monkeypatch, [wrong, right])

    assert answer.text == "2: PO-1 [1]; PO-3 [2]"
    assert [row["name"] for row in answer.rows] == ["PO-1", "PO-3"]
    assert release.sql(answer.sql).rows == list(answer.rows)
    assert "there is no column 'nme'" in prompts[1]
    assert '"header": "Delivery"' in prompts[0]
    assert [call["step"] for call in answer.trace["calls"]] == ["sql", "sql"]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE documents",
        "SELECT 3 AS answer",
        GIVEN + 'SELECT 1 AS answer, document_id, 0 AS start, 99999 AS "end" FROM given',
    ],
)
def test_sql_that_is_refused_twice_is_told_and_passages_answer(release, monkeypatch, sql):
    found = {"is_found": True, "answer": "Two orders are late.", "cited": [1]}
    rewrite = {"question": UNKNOWN, "keys": [], "sql": ""}

    answer, prompts = asked_with(release, monkeypatch, [{"is_answerable": True, "sql": sql}] * 2 + [rewrite, found])

    assert answer.sql == ""
    assert len(prompts) == 4
    assert any("refused twice" in note for note in answer.notes)
    assert answer.text.startswith("Two orders are late.")


def test_a_form_that_rules_answer_asks_no_model(release, monkeypatch):
    answer, prompts = asked_with(release, monkeypatch, [{}], "How many orders are late?")

    assert (answer.text.partition(":")[0], prompts) == ("2", [])
