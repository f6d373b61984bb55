"""How a report was made, line by line."""

from collections.abc import Iterator

from sag_retrieval.communities.groups import Communities
from sag_retrieval.reports.context import ReportContext


def provenance(draft: ReportContext, communities: Communities) -> tuple[tuple[str, str], ...]:
    """Name and text of each fact: release, range, parameters, models, counts, quality, what was left out."""
    names = draft.labels.facts
    found = {
        "release": draft.options.release,
        "released": draft.options.released,
        "previous": draft.previous.release if draft.previous else "",
        "scope": draft.options.scope or draft.labels.everything,
        "period": draft.options.period,
        "method": draft.options.cluster.method,
        "parameters": _parameters(draft),
        "models": draft.options.models,
        "levels": " · ".join(f"{each.communities:,}" for each in communities.quality),
        "counts": _counts(draft, communities),
        "quality": "; ".join(_quality(draft, communities)),
        "left_out": "; ".join(_left_out(draft, communities)),
        "failures": str(draft.options.failures) if draft.options.failures else "",
    }
    return tuple((names[name], text) for name, text in found.items() if text)


def _parameters(draft: ReportContext) -> str:
    options = draft.options.cluster
    shown = {
        "alpha": options.alpha,
        "threshold": options.threshold,
        "idf": draft.labels.yes if options.use_idf else draft.labels.no,
        "key types": ", ".join(options.key_types) or draft.labels.everything,
        "without": ", ".join(options.without_key_types) or "–",
        "resolution": f"{options.resolution_for(len(draft.events)):g}",
        "level ratio": options.level_ratio,
        "strongest": options.strongest,
        "neighbours by meaning": options.neighbours_by_meaning,
        "common key limit": options.common_key_limit,
        "pairs": options.pairs,
        "seed": options.seed,
    }
    return " · ".join(f"{name} {value}" for name, value in shown.items())


def _counts(draft: ReportContext, communities: Communities) -> str:
    is_zh = draft.labels.lang.startswith("zh")
    links = f"{int(draft.total.sum()):,}"
    pairs, kept = f"{communities.candidate_count:,}", f"{communities.edge_count:,}"
    if is_zh:
        return f"事件与属性的联系 {links} 条 · 比较的事件对 {pairs} 个 · 保留 {kept} 个"
    return f"{links} links of events and keys · {pairs} pairs weighed · {kept} kept"


def _quality(draft: ReportContext, communities: Communities) -> Iterator[str]:
    is_zh = draft.labels.lang.startswith("zh")
    words = (
        "第 {} 层：模块度 {:.2f}，覆盖 {:.2f}，外联 {:.2f}",
        "level {}: modularity {:.2f}, coverage {:.2f}, conductance {:.2f}",
    )
    for each in communities.quality:
        yield words[not is_zh].format(each.level, each.modularity, each.coverage, each.conductance)


def _left_out(draft: ReportContext, communities: Communities) -> Iterator[str]:
    is_zh = draft.labels.lang.startswith("zh")
    if communities.common_keys:
        limit = draft.options.cluster.common_key_limit
        yield (
            f"{communities.common_keys} 个属性超过 {limit} 个事件，不用来提出事件对"
            if is_zh
            else f"keys of more than {limit} events proposed no pairs: {communities.common_keys}"
        )
    single = sum(len(each.members) for each in draft.singles)
    if single:
        yield (
            f"{single:,} 个事件不在三个以上事件的社区中"
            if is_zh
            else f"{single:,} events are in no community of three or more"
        )
