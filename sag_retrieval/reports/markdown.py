"""The report as GitHub-flavoured Markdown: same order and wording, tables instead of pictures."""

import re
from collections.abc import Iterator, Sequence

from sag_retrieval.reports.citations import CitedSource
from sag_retrieval.reports.content import Article, Content, News, Statement
from sag_retrieval.reports.wording import Messages

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~^$])")
_LEADING = re.compile(r"^(\s*)(?:([-+=])|(\d+)([.)]))")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no link, no list, no table cell that ends early."""
    return _LEADING.sub(_escape_start, _MARKUP.sub(r"\\\1", text.replace("&", "&amp;"))).replace("\n", " ")


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[2] else f"{match[1]}{match[3]}\\{match[4]}"


def render_markdown(content: Content, labels: Messages) -> str:
    """The whole report."""
    return "\n".join(line.rstrip() for line in _lines(content, labels)).rstrip() + "\n"


def render_preview(content: Content, labels: Messages) -> str:
    """Facts, highlights and changes in at most 2,000 bytes."""
    lines = [f"**{escaped(content.headline)}**", "", *_figures(content), ""]
    lines += [f"{i}. {_heading(each.article, labels)}" for i, each in enumerate(content.highlights, 1)]
    lines += ["", *([escaped(content.news_sentence), ""] if content.news_sentence else [])]
    lines += [
        f"- {labels.status[each.change.status]}: {escaped(each.change.title)} ({escaped(each.told)})"
        for each in (*content.news, *content.regrouped)[:8]
    ]
    text = ""
    for line in lines:
        if len((text + line).encode()) > 1_990:  # noqa: PLR2004  two kilobytes with the last line's end
            break
        text += line + "\n"
    return text


def _lines(content: Content, labels: Messages) -> Iterator[str]:
    yield from (f"# {escaped(content.title)}", "", escaped(content.headline), "", *_figures(content), "")
    if content.empty:
        yield from (content.empty[0], "", f"{labels.empty_command} `{content.empty[1]}`", "")
    else:
        yield from _overview(content, labels)
        yield from _tables(content, labels)
        yield from _communities(content, labels)
    yield from (f"## {labels.how_made}", "")
    yield from (f"- **{escaped(name)}**: {escaped(text)}" for name, text in content.facts)
    yield ""
    for source in content.sources:
        yield _footnote(source, labels)


def _figures(content: Content) -> list[str]:
    return [" · ".join(f"{name} **{escaped(value)}**" for name, value in content.figures)]


def _overview(content: Content, labels: Messages) -> Iterator[str]:
    if content.highlights:
        yield from (f"## {labels.stands_out}", "")
        for number, each in enumerate(content.highlights, 1):
            yield f"{number}. {_heading(each.article, labels)}  "
            yield f"   {_said(each.statement)}"
        yield ""
    yield from (f"## {labels.whats_new}", "")
    if content.news_sentence:
        yield from (escaped(content.news_sentence), "")
    yield from _changed(content.news, labels)
    if content.regrouped:
        yield from ("", labels.news_regrouped.format(count=len(content.regrouped)), "")
        yield from _changed(content.regrouped, labels)
    if content.news_left:
        yield from ("", labels.changes_more.format(count=content.news_left, file="`report_changes.parquet`"))
    yield ""


def _changed(news: Sequence[News], labels: Messages) -> Iterator[str]:
    for each in news:
        yield f"- **{labels.status[each.change.status]}** {escaped(each.change.title)} ({escaped(each.told)})"
        yield from (f"  - {_dated(said)}" for said in each.statements)


def _heading(article: Article, labels: Messages) -> str:
    return f"**{escaped(article.title)}** {_meta(article, labels)}"


def _meta(article: Article, labels: Messages) -> str:
    parts = [
        labels.counted(labels.event_count, article.size),
        labels.counted(labels.document_count, article.document_count),
        article.period,
        labels.new_count.format(count=f"{article.new_count:,}") if article.new_count else "",
        article.status,
    ]
    return " · ".join(part for part in parts if part)


def _said(statement: Statement) -> str:
    notes = "".join(f"[^{number}]" for number in dict.fromkeys(cite.source for cite in statement.cites))
    return escaped(statement.text) + notes


def _dated(statement: Statement) -> str:
    return f"{statement.date} {_said(statement)}" if statement.date else _said(statement)


def _tables(content: Content, labels: Messages) -> Iterator[str]:
    if content.articles:
        yield from (f"## {labels.all_communities}", "")
        yield from _table(
            [
                labels.number,
                labels.title,
                labels.events,
                labels.new,
                labels.documents,
                labels.period,
                labels.main_keys,
            ],
            [
                [
                    str(each.number),
                    each.title,
                    f"{each.size:,}",
                    f"{each.new_count:,}" if each.new_count else "",
                    f"{each.document_count:,}",
                    each.period,
                    labels.comma.join(each.main_keys),
                ]
                for each in content.articles
            ],
        )
    if not content.timeline:
        yield from (labels.no_dates, "")
    if content.top_keys:
        yield from (f"## {labels.top_keys}", "", labels.keys_how, "")
        yield from _table(
            [labels.type, labels.key, labels.events, labels.idf, labels.communities],
            [
                [
                    key.type,
                    key.value,
                    f"{key.events:,}",
                    f"{key.idf:.2f}",
                    labels.comma.join(map(str, key.numbers)),
                ]
                for key in content.top_keys
            ],
        )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(escaped(cell) for cell in row)} |"
    yield ""


def _communities(content: Content, labels: Messages) -> Iterator[str]:
    yield from (f"## {labels.communities}", "")
    for theme in content.themes:
        if len(content.themes) > 1:
            yield from (f"### {escaped(theme.title)}", "")
        for article in theme.articles:
            yield from _article(article, labels)
    if content.singles:
        yield from (f"### {labels.single}", "")
        yield from (f"- {_dated(each)}" for each in content.singles)
        yield ""


def _article(article: Article, labels: Messages) -> Iterator[str]:
    yield from (f"#### {article.number} {escaped(article.title)}", "", _meta(article, labels), "")
    keys = escaped(labels.comma.join(article.main_keys))
    yield " ".join(_said(each) for each in article.summary) or labels.no_summary.format(keys=keys)
    yield ""
    for chips in article.chips:
        values = labels.comma.join(f"{escaped(value)} ({count})" for value, count in chips.keys)
        yield f"- **{escaped(chips.type)}**: {values}"
    if article.related:
        yield f"- **{labels.related}**: " + labels.comma.join(f"{r.number} {escaped(r.title)}" for r in article.related)
    yield from ("", f"{labels.typical}:", "")
    yield from (f"- {_dated(each)}" for each in article.typical)
    if article.rest:
        yield from ("", f"{labels.counted(labels.more_events, len(article.rest))}:", "")
        yield from (f"- {_dated(each)}" for each in article.rest)
    if article.unlisted:
        yield from (
            "",
            labels.not_listed.format(count=f"{article.unlisted:,}", file="`report_events.parquet`"),
        )
    yield ""


def _footnote(source: CitedSource, labels: Messages) -> str:
    cited = " … ".join(escaped(piece.text) for piece in source.pieces if piece.cited)
    near = f" ({labels.approximate})" if source.approximate else ""
    where = " · ".join(escaped(part) for part in (source.title, source.document_id, source.chunk_id))
    return f"[^{source.number}]: {where}{near}: “{cited}”"
