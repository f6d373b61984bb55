"""How the report was made: release, range, parameters, models, counts, quality, and what was left out."""

from collections.abc import Iterator
from dataclasses import dataclass

from sag_retrieval.clusters.groups import Quality
from sag_retrieval.clusters.options import ClusterOptions
from sag_retrieval.reports.section import ReportContext, ReportSection
from sag_retrieval.reports.wording import Messages, Wording, escaped

WORDING: Wording = {
    "heading": ("How this report was made", "本报告如何生成"),
    "details": ("Settings and counts", "设置与数量"),
    "by_rules": (
        (
            "{events} of {documents} were grouped into {themes} by what they share. Sentences are quoted from the "
            "documents: rules choose those that hold amounts, dates and names; no language model wrote for this page. "
            "Figures are counted."
        ),
        (
            "{documents}中的 {events}按共有的内容分为 {themes}。句子摘自文档：由规则选出含金额、日期和名称的句子，"
            "本页没有由语言模型撰写的内容；数字为计数所得。"
        ),
    ),
    "by_parts": (
        (
            "{events} of {documents} lie in {themes}, the parts of the text. Sentences are quoted from it in order: "
            "rules choose those that are understood alone, spread over each part; a name in brackets stands for a "
            "pronoun. No language model wrote for this page. Figures are counted."
        ),
        (
            "{documents}中的 {events}分属 {themes}，即原文的各个部分。句子按原文顺序摘录：由规则在每个部分中选出可以"
            "单独理解的句子，方括号中的名称代替代词；本页没有由语言模型撰写的内容，数字为计数所得。"
        ),
    ),
    "by_model": (
        (
            "{events} of {documents} were grouped into {themes} by what they share. A language model wrote titles, "
            "summaries and findings; a sentence was left out where the events that it cites do not support it. "
            "Other sentences are quoted from the documents by rules. Figures are counted."
        ),
        (
            "{documents}中的 {events}按共有的内容分为 {themes}。标题、概述与要点由语言模型撰写，"
            "得不到所引事件支持的句子已略去；其他句子按规则摘自文档。数字为计数所得。"
        ),
    ),
    "release": ("Release", "版本"),
    "released": ("Released", "版本日期"),
    "previous": ("Compared with", "比较的版本"),
    "scope": ("Range", "范围"),
    "dates": ("Period", "时间"),
    "method": ("Grouping", "分组方法"),
    "parameters": ("Parameters", "参数"),
    "models": ("Models", "模型"),
    "levels": ("Levels", "层级"),
    "counts": ("Counts", "数量"),
    "quality": ("Quality", "质量"),
    "left_out": ("Left out", "略去的内容"),
    "written": ("Written by the model", "由模型撰写"),
    "unsupported": ("Left out of what it wrote", "从模型文字中略去"),
    "themes_written": ("{written} of {asked} themes", "{asked} 个主题中的 {written} 个"),
    "and_report": ("first page", "首页"),
    "reason_cites nothing": ("cites no event", "未引用事件"),
    "reason_figure": ("a figure not in its events", "数字不在所引事件中"),
    "reason_name": ("a name not in its events", "名称不在所引事件中"),
    "reason_words": ("not in the words of its events", "与所引事件不符"),
    "reason_form": ("no statement", "不是陈述"),
    "reason_length": ("title too long or empty", "标题过长或为空"),
    "reason_taken": ("title of another theme", "与其他标题重复"),
    "reason_budget": ("beyond the budget", "超出预算"),
    "reason_no server": ("the server did not answer", "服务器没有应答"),
    "reason_no answer": ("no usable answer", "没有可用的回答"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "everything": ("everything", "全部"),
    "counted_links": (
        "{links} links of events and keys · {pairs} pairs weighed · {kept} kept",
        "事件与属性的联系 {links} 条 · 比较的事件对 {pairs} 个 · 保留 {kept} 个",
    ),
    "level_quality": (
        "level {level}: modularity {modularity:.2f}, coverage {coverage:.2f}, conductance {conductance:.2f}",
        "第 {level} 层：模块度 {modularity:.2f}，覆盖 {coverage:.2f}，外联 {conductance:.2f}",
    ),
    "common_keys": (
        "keys with more than {limit} events, which propose no pairs: {count}",
        "{count} 个属性超过 {limit} 个事件，不用来提出事件对",
    ),
    "single": (
        "{count} events are in no community of three or more",
        "{count} 个事件不在三个以上事件的社区中",
    ),
}


@dataclass(frozen=True, slots=True)
class Provenance:
    """How it was made in a few sentences, and name and text of each fact."""

    method: str
    facts: tuple[tuple[str, str], ...]


def build(context: ReportContext) -> Provenance:
    """The facts that have a text."""
    messages, options, communities = context.messages(WORDING), context.options, context.communities
    previous = context.comparison.previous
    found = {
        "release": options.release,
        "released": options.released,
        "previous": previous.release if previous else "",
        "scope": options.scope or messages.everything,
        "dates": options.period,
        "method": options.cluster.method,
        "parameters": _parameters(options.cluster, len(context.events), messages),
        "models": options.models,
        "levels": " · ".join(f"{each.communities:,}" for each in communities.quality),
        "counts": messages.counted_links.format(
            links=f"{int(context.keys.total.sum()):,}",
            pairs=f"{communities.candidate_count:,}",
            kept=f"{communities.edge_count:,}",
        ),
        "quality": "; ".join(_quality(each, messages) for each in communities.quality),
        "left_out": "; ".join(_left_out(context, messages)),
        "written": messages.comma.join(_written(context, messages)),
        "unsupported": _unsupported(context, messages),
    }
    return Provenance(_method(context, messages), tuple((messages[name], text) for name, text in found.items() if text))


def _method(context: ReportContext, messages: Messages) -> str:
    """How events became this page, in sentences."""
    counts, written = context.counts, context.written
    by_rules = "by_parts" if context.communities.is_ordered else "by_rules"
    return messages["by_model" if written.themes or written.findings else by_rules].format(
        events=messages.counted(messages.event_count, counts["events"]),
        documents=messages.counted(messages.document_count, counts["documents"]),
        themes=messages.counted(messages.community_count, counts["communities"]),
    )


def _written(context: ReportContext, messages: Messages) -> Iterator[str]:
    """What a model wrote; nothing where none was asked."""
    written = context.written
    asked = written.plan.themes + written.plan.left_out
    if asked:
        yield messages.themes_written.format(written=len(written.themes), asked=asked)
    if written.findings or written.summary:
        yield messages.and_report


def _unsupported(context: ReportContext, messages: Messages) -> str:
    """How much was left out, by reason; the table has each text."""
    counted = [f"{messages[f'reason_{name}']} {count}" for name, count in context.written.reasons.items()]
    return f"{messages.comma.join(counted)} (report_left_out.parquet)" if counted else ""


def _parameters(options: ClusterOptions, size: int, messages: Messages) -> str:
    shown = {
        "alpha": options.alpha,
        "threshold": options.threshold,
        "idf": messages.yes if options.use_idf else messages.no,
        "key types": ", ".join(options.key_types) or messages.everything,
        "without": ", ".join(options.without_key_types) or "–",
        "resolution": f"{options.resolution_for(size):g}",
        "level ratio": options.level_ratio,
        "strongest": options.strongest,
        "neighbours by meaning": options.neighbours_by_meaning,
        "common key limit": options.common_key_limit,
        "pairs": options.pairs,
        "seed": options.seed,
    }
    return " · ".join(f"{name} {value}" for name, value in shown.items())


def _quality(quality: Quality, messages: Messages) -> str:
    return messages.level_quality.format(
        level=quality.level,
        modularity=quality.modularity,
        coverage=quality.coverage,
        conductance=quality.conductance,
    )


def _left_out(context: ReportContext, messages: Messages) -> Iterator[str]:
    if context.communities.common_keys:
        limit = context.options.cluster.common_key_limit
        yield messages.common_keys.format(limit=limit, count=context.communities.common_keys)
    if context.ranking.single_count:
        yield messages.single.format(count=f"{context.ranking.single_count:,}")


def markdown(content: Provenance, messages: Messages) -> Iterator[str]:
    """The sentences and a list of facts."""
    yield from (f"## {messages.heading}", "", escaped(content.method), "")
    yield from (f"- **{escaped(name)}**: {escaped(text)}" for name, text in content.facts)
    yield ""


SECTION = ReportSection(name="made", anchor="made", build=build, markdown=markdown, wording=WORDING)
