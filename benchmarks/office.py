"""Piles of office files of three trades in English and Chinese, with questions and where their answers stand.

A pile holds letters, mails, minutes with attendance lists, policies, and lists that name many sites, people and firms
without answering anything. Forty questions a pile ask for one statement: half in its words, half in others; a quarter
for a rule that names nothing. All is invented and drawn by a fixed seed.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sets import Question, QuestionSet

SEED: Final = 20261124
FACTS_A_KIND, ASKED_A_KIND, ASKED_RULES = 16, 3, 3
SIZES: Final = {"builders": 1, "clinic": 3, "freight": 6}
"""How long the documents of a pile are."""

PEOPLE: Final = {
    "en": "Ada Marsh,Bram Keele,Clara Voss,Dorian Pell,Edda Lunt,Felix Orme,Greta Quill,Hugo Stane,Ines Tarrow,"
    "Jonas Wick,Kaya Brunt,Lars Denby,Mina Foyle,Noel Garth,Olga Hesse,Piers Ivory,Rhea Judd,Sven Kettle",
    "zh": "沈若溪,陆景明,顾思远,韩雪桐,唐一诺,白子安,田晓峰,魏书瑶,崔立群,姚佳宁,潘文博,邹静怡,熊启航,段雨薇,"
    "龚海涛,柏清扬,涂梦洁,万世平",
}
FIRMS: Final = {
    "en": "Borrow & Tate,Calloway Supplies,Drumlin Services,Estuary Trading,Fenwick Partners,Gantry Works",
    "zh": "恒岳物资,东麓贸易,清湖服务,瑞禾设备,启元工贸,博川实业",
}
KINDS: Final[Mapping[str, tuple[tuple[str, str, str, str], ...]]] = {
    "en": (
        ("minutes", "It was agreed that {person} orders the {thing} for {site} before {date}.",
         "Who orders the {thing} for {site}?", "Whose job is it to get the {thing} that {site} is waiting for?"),
        ("minutes", "At {site} the {thing} stopped because {cause}.",
         "Why did the {thing} at {site} stop?", "What was behind the breakdown of the {thing} at {site}?"),
        ("letter", "For the {thing} at {site} we charge {amount} a month, upkeep included.",
         "What is charged a month for the {thing} at {site}?",
         "How much does the {thing} at {site} cost us regularly?"),
        ("letter", "The papers for the {thing} at {site} have to reach us by {date} at the latest.",
         "By when do the papers for the {thing} at {site} have to arrive?",
         "Until what day may we hand in the documents about the {thing} of {site}?"),
        ("mail", "Correction: the {thing} comes to {site} on {date}, not on {other_date} as announced.",
         "On which day does the {thing} come to {site}?", "When can {site} count on delivery of the {thing}?"),
        ("mail", "From {date} {person} looks after the {thing} at {site}, since {other} is on leave.",
         "Who looks after the {thing} at {site}?", "Whom do I turn to about the {thing} at {site} during the absence?"),
    ),
    "zh": (
        ("minutes", "会议商定，由{person}在{date}之前为{site}订购{thing}。",
         "谁为{site}订购{thing}？", "{site}等着要的{thing}归谁去买？"),
        ("minutes", "{site}的{thing}停用，原因是{cause}。",
         "{site}的{thing}停用的原因是什么？", "{site}的{thing}怎么坏的？"),
        ("letter", "{site}的{thing}，我方每月收费{amount}，含保养。",
         "{site}的{thing}每月收费多少？", "我们在{site}的{thing}上定期要花多少钱？"),
        ("letter", "{site}{thing}的材料最迟须于{date}送达我方。",
         "{site}{thing}的材料最迟何时送达？", "关于{site}的{thing}，文件哪天以前要交上去？"),
        ("mail", "更正：{thing}将于{date}运抵{site}，并非此前通知的{other_date}。",
         "{thing}哪天运抵{site}？", "{site}什么时候能收到{thing}？"),
        ("mail", "自{date}起，{site}的{thing}由{person}照管，{other}休假。",
         "{site}的{thing}由谁照管？", "{site}的{thing}出了事，这段时间该找哪位？"),
    ),
}  # fmt: skip
"""By language: kind of document, the statement, a question in its words, and one in others."""

RULES: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "en": (
        ("A lost access card is reported to the front desk within one working day.",
         "How soon must a lost access card be reported?", "My badge is gone, how much time do I have to tell someone?"),
        ("Travel above 400 euros needs the consent of the head of finance.",
         "From what sum on does travel need consent?", "Can I book an expensive trip without asking?"),
        ("Overtime is taken as free time within six months and is never paid out.",
         "Within what time is overtime taken as free time?", "Do I get money for extra hours?"),
        ("Visitors sign the book at the gate and wear a yellow badge until they leave.",
         "What do visitors wear until they leave?", "How do guests have to identify themselves on the premises?"),
        ("Passwords have fourteen characters and are changed only after a leak.",
         "How many characters does a password have?", "How often do I need a new login secret?"),
        ("Gifts worth more than 30 euros are sent back with a friendly note.",
         "From what worth on are gifts sent back?", "A supplier gave me an expensive bottle, may I keep it?"),
        ("Private calls abroad are not allowed on company telephones.",
         "Are private calls abroad allowed?", "May I ring my family overseas from my desk?"),
        ("Sick leave of more than three days calls for a doctor's certificate.",
         "After how many days does sick leave call for a certificate?", "When must I bring proof that I am ill?"),
        ("Spare keys lie in the red box behind the stairs of the main building.",
         "Where do the spare keys lie?", "I am locked out, is there another way in?"),
        ("Invoices without an order number are returned to the sender unpaid.",
         "What happens to invoices without an order number?", "Why might a supplier's bill come back without money?"),
    ),
    "zh": (
        ("门禁卡遗失后，须在一个工作日内报告前台。", "门禁卡遗失后多久之内须报告？",
         "我的卡不见了，最晚什么时候要说？"),
        ("超过三千元的出差，须经财务主管同意。", "多少钱以上的出差须经同意？", "花费大的外地行程可以自己决定吗？"),
        ("加班在六个月内调休，不发加班费。", "加班在多长时间内调休？", "多干的钟点能拿到钱吗？"),
        ("来访者在大门登记，离开前一直佩戴黄色标牌。", "来访者佩戴什么标牌？", "客人进来怎么让人认出？"),
        ("密码不少于十四位，只在泄露后更换。", "密码不少于多少位？", "登录口令要多久改一次？"),
        ("价值超过二百元的礼品，附致谢便条退回。", "价值多少以上的礼品要退回？", "供应商送我一瓶好酒，能收下吗？"),
        ("办公电话不得拨打私人国际长途。", "办公电话能打私人国际长途吗？", "可以用座机给国外的家人打过去吗？"),
        ("病假超过三天，须提交医生证明。", "病假超过几天须提交证明？", "身体不舒服，什么情况下要开条子？"),
        ("备用钥匙放在主楼楼梯后面的红色箱子里。", "备用钥匙放在哪里？", "被锁在外面了怎么办？"),
        ("没有订单号的发票不予付款，退回寄件人。", "没有订单号的发票怎么处理？", "为什么有的账单没给钱就寄回去了？"),
    ),
}  # fmt: skip

FILLER: Final = {
    "en": ("Thank you for your patience in this matter.", "The figures of the last quarter were read out and noted.",
           "Please print this page only where it is needed.", "The next meeting is held in the small hall as usual.",
           "Several colleagues asked for a clearer plan of the week.", "We wish you a good start into the season.",
           "The plan on the notice board remains valid.", "Everyone was reminded to keep the corridors free.",
           "Questions are answered by the office in the mornings.",
           "The minutes of last time were accepted unchanged."),
    "zh": ("感谢各位的耐心配合。", "会上通报了上季度的数据，与会人员知悉。", "请仅在必要时打印本页。",
           "下次会议照例在小会议室举行。",
           "有同事希望每周安排能更清楚一些。", "祝各位本季工作顺利。", "公告栏上的计划仍然有效。",
           "再次提醒各位保持走廊畅通。",
           "如有疑问，可于上午向办公室咨询。", "上次会议记录未作修改，予以通过。"),
}  # fmt: skip


REMARKS: Final = {
    "en": ("{person} reported from {site} and had nothing to add.",
           "{person} had asked {other} about {site} on {date}.",
           "For {site}, {person} and {other} thanked everyone who had helped with the {thing}."),
    "zh": ("{person}汇报了{site}的情况，没有补充。", "{date}，{person}曾就{site}询问{other}。",
           "{person}和{other}代表{site}感谢大家在{thing}一事上的帮助。"),
}  # fmt: skip
"""Sentences that name what is asked about and answer nothing."""


@dataclass(frozen=True)
class Trade:
    """What a trade speaks of in one language: its places, its things, and why these fail."""

    sites: str
    things: str
    causes: str


TRADES: Final[Mapping[str, Mapping[str, Trade]]] = {
    "builders": {
        "en": Trade(
            "Hazel Court,Tannery Lane,Quay House,Linden School,Station Row,Weir Bridge,Mill Yard,Castle Baths",
            "tower crane,concrete mixer,site lift,dust filter,welding set,water pump,scaffold net,light mast",
            "a cable was cut in the night,the gear had run dry,frost had burst a seal,sand got into the bearing",
        ),
        "zh": Trade(
            "榛树苑,制革巷,码头大楼,菩提小学,站前街,堰桥,磨坊院,古堡浴场",
            "塔吊,混凝土搅拌机,施工电梯,除尘器,电焊机,抽水泵,脚手架防护网,照明灯塔",
            "夜里电缆被挖断,齿轮箱缺油,严寒冻裂了密封圈,轴承里进了沙子",
        ),
    },
    "clinic": {
        "en": Trade(
            "East Ward,Harbour Practice,Day Surgery,Children's Unit,Eye Department,Night Clinic,Rehab Wing,Laboratory",
            "infusion pump,blood fridge,patient monitor,X-ray table,steriliser,bed lift,oxygen meter,dental chair",
            "the battery no longer held its charge,a sensor was put in wrongly,a fuse had blown,lime blocked the valve",
        ),
        "zh": Trade(
            "东病区,海港门诊,日间手术室,儿科病房,眼科,夜间急诊,康复楼,检验科",
            "输液泵,血液冷藏柜,监护仪,放射检查床,灭菌器,病床升降机,氧气流量计,牙科椅",
            "电池无法充电,传感器装反了,保险丝熔断,水垢堵住了阀门",
        ),
    },
    "freight": {
        "en": Trade(
            "North Depot,Pier Nine,Airport Shed,Cold Store,Rail Yard,Customs Hall,River Terminal,Parcel Hub",
            "fork-lift,loading ramp,belt scale,cooling unit,label printer,gate scanner,pallet wrapper,tow truck",
            "the firmware had not been updated,a chain link broke under load,the hose leaked oil,dirt covered the lens",
        ),
        "zh": Trade(
            "北仓,九号码头,机场货棚,冷库,铁路货场,报关大厅,内河港区,包裹中心",
            "叉车,装卸平台,皮带秤,制冷机组,标签打印机,闸口扫描仪,缠绕机,牵引车",
            "固件没有更新,链节在重载下断裂,油管漏油,镜头被灰尘盖住",
        ),
    },
}


@dataclass(frozen=True)
class Statement:
    """A sentence, the kind of document that says it, and what asks for it; no question for what nobody asks."""

    kind: str
    text: str
    question: str = ""


@dataclass
class Writer:
    """Writes the documents of one pile in one language, and notes where each statement stands."""

    pile: str
    language: str
    trade: Trade
    draw: random.Random
    lines: list[dict[str, str]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def say(self, english: str, chinese: str) -> str:
        """One of two wordings."""
        return english if self.language == "en" else chinese

    def names(self, of: Mapping[str, str]) -> list[str]:
        """The names of this language."""
        return of[self.language].split(",")

    def day(self) -> str:
        """A day of the year."""
        month, day, year = self.draw.randint(1, 12), self.draw.randint(1, 28), self.draw.randint(2023, 2025)
        return self.say(f"{year}-{month:02}-{day:02}", f"{year}年{month}月{day}日")

    def add(self, title: str, parts: Sequence[str | Statement]) -> None:
        """A document of paragraphs, some of which are statements."""
        document, text = f"{self.pile}-{self.language}-{len(self.lines):03}", ""
        for part in parts:
            said = part if isinstance(part, str) else part.text
            if isinstance(part, Statement) and part.question:
                span = (document, len(text), len(text) + len(said))
                name = f"{document}/{len(text)}"
                self.questions.append(Question(name, part.question, self.language, spans=(span,)))
            text += f"{said}\n\n"
        self.lines.append({"id": document, "title": title, "text": text})

    def told(self, site: str, thing: str) -> dict[str, str]:
        """Values for the gaps of a sentence about a thing at a place."""
        person, other = self.draw.sample(self.names(PEOPLE), 2)
        amount = self.say(f"{self.draw.randint(90, 4000):,} euros", f"{self.draw.randint(900, 40000):,}元")
        cause = self.draw.choice(self.trade.causes.split(","))
        told = {"site": site, "thing": thing, "person": person, "other": other, "cause": cause, "amount": amount}
        return told | {"date": self.day(), "other_date": self.day()}

    def mixed(self, statements: Sequence[Statement], filler: int) -> list[str | Statement]:
        """Statements among sentences that say nothing; as many of these name something."""
        sites, things = self.trade.sites.split(","), self.trade.things.split(",")
        remarks = [
            self.draw.choice(REMARKS[self.language]).format(**self.told(*map(self.draw.choice, (sites, things))))
            for _ in range(filler)
        ]
        parts: list[str | Statement] = [
            *statements,
            *self.draw.sample(FILLER[self.language], min(filler, 10)),
            *remarks,
        ]
        self.draw.shuffle(parts)
        return parts


def statements(writer: Writer) -> Iterator[Statement]:
    """Those of every kind about distinct things at distinct places, of which some are asked for."""
    trade = writer.trade
    pairs = [(site, thing) for site in trade.sites.split(",") for thing in trade.things.split(",")]
    for kind, text, plainly, otherwise in KINDS[writer.language]:
        for number, pair in enumerate(writer.draw.sample(pairs, FACTS_A_KIND)):
            told = writer.told(*pair)
            question = (plainly, otherwise)[number % 2] if number < ASKED_A_KIND else ""
            yield Statement(kind, text.format(**told), question.format(**told))


def write_minutes(writer: Writer, said: Sequence[Statement]) -> None:
    """Minutes open with everyone who was there and every place that reported."""
    date, people = writer.day(), writer.draw.sample(writer.names(PEOPLE), 14)
    sites = writer.trade.sites.split(",")
    present = [f"{person} ({writer.draw.choice(sites)})" for person in people]
    opening = writer.say(
        f"Present: {', '.join(present)}. Reports: {', '.join(sites)}.",
        f"出席人员：{'、'.join(present)}。汇报单位：{'、'.join(sites)}。",
    )
    title = writer.say(f"Minutes of {date}", f"{date}会议纪要")
    writer.add(title, [opening, *writer.mixed(said, 3 * len(said))])


def write_letter(writer: Writer, said: Sequence[Statement]) -> None:
    """A letter of a firm."""
    firm, person = writer.draw.choice(writer.names(FIRMS)), writer.draw.choice(writer.names(PEOPLE))
    greeting, close = writer.say(f"Dear {person},", f"{person}您好："), writer.say("Kind regards", "此致敬礼")
    title = writer.say(f"Letter from {firm}", f"{firm}来函")
    writer.add(title, [greeting, *writer.mixed(said, 2 * len(said)), f"{close} {firm}"])


def write_mail(writer: Writer, said: Sequence[Statement]) -> None:
    """A mail with a line of receivers."""
    receivers = writer.draw.sample(writer.names(PEOPLE), 7)
    subject = writer.draw.choice(writer.trade.sites.split(","))
    head = writer.say(
        f"To: {'; '.join(receivers)}\nSubject: {subject}", f"收件人：{'；'.join(receivers)}\n主题：{subject}"
    )
    writer.add(writer.say(f"Re: {subject}", f"回复：{subject}"), [head, *writer.mixed(said, 2 * len(said))])


def write_policies(writer: Writer) -> None:
    """Rules that name nobody, five in a document, of which some are asked for."""
    rules = list(RULES[writer.language])
    writer.draw.shuffle(rules)
    told = [
        Statement("policy", text, (plainly, otherwise)[n % 2] if n < ASKED_RULES else "")
        for n, (text, plainly, otherwise) in enumerate(rules)
    ]
    writer.draw.shuffle(told)
    for number, start in enumerate((0, 5), start=1):
        title = writer.say(f"House rules, part {number}", f"内部规定（{number}）")
        writer.add(title, writer.mixed(told[start : start + 5], 3))


def write_lists(writer: Writer) -> None:
    """Registers that name places, things, people and firms, and answer nothing."""
    sites, things = writer.trade.sites.split(","), writer.trade.things.split(",")
    people, firms = writer.names(PEOPLE), writer.names(FIRMS)
    for number, site in enumerate(sites):
        header = writer.say(
            "| Site | Equipment | Firm | Keyholder | Checked |", "| 地点 | 设备 | 公司 | 钥匙保管 | 检查 |"
        )
        rows = [
            f"| {site} | {thing} | {writer.draw.choice(firms)} | {writer.draw.choice(people)} | {writer.day()} |"
            for thing in things
        ]
        title = writer.say(f"Inventory {number + 1}", f"设备清单{number + 1}")
        writer.add(title, ["\n".join([header, "|---|---|---|---|---|", *rows])])
    for number in range(4):
        shifts = [f"{writer.day()}: {', '.join([*writer.draw.sample(people, 4), *writer.draw.sample(sites, 3)])}"
                  for _ in range(12)]  # fmt: skip
        writer.add(writer.say(f"Rota {number + 1}", f"排班表{number + 1}"), ["\n".join(shifts)])


WRITERS: Final = {"minutes": (write_minutes, 3), "letter": (write_letter, 2), "mail": (write_mail, 1)}
"""What writes a kind of document, and how many statements a short one holds."""


def office(name: str) -> QuestionSet:
    """The pile of a trade, in both languages.

    >>> len(office("clinic").questions)
    42
    """
    found = QuestionSet([], [])
    for language, trade in TRADES[name].items():
        writer = Writer(name, language, trade, random.Random(f"{SEED}/{name}/{language}"))
        said = list(statements(writer))
        writer.draw.shuffle(said)
        for kind, (write, size) in WRITERS.items():
            of_kind = [each for each in said if each.kind == kind]
            step = size * SIZES[name]
            for start in range(0, len(of_kind), step):
                write(writer, of_kind[start : start + step])
        write_policies(writer)
        write_lists(writer)
        found.lines.extend(writer.lines)
        found.questions.extend(writer.questions)
    return found


OFFICE: Final[dict[str, Callable[[], QuestionSet]]] = {f"office-{name}": partial(office, name) for name in TRADES}
"""Piles by name."""
