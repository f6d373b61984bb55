"""The report as one HTML file that asks for nothing outside."""

from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from importlib import resources

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from sag_retrieval.reports.content import Content
from sag_retrieval.reports.wording import Messages

_ROOM = "sag_retrieval.reports"


def render_page(content: Content, labels: Messages) -> str:
    """The page; the same content gives the same text.

    Everything that comes from data is escaped. The page's policy allows one style and one script, by their
    hashes, and no address at all: a title that carries markup or a script that calls home does nothing.
    """
    style, script = _asset("style.css"), _asset("script.js")
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            content=content,
            t=labels,
            style=Markup(style),  # noqa: S704  our own file
            script=Markup(script),  # noqa: S704  our own file
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
            "base-uri 'none'; form-action 'none'",
        )
    )


@lru_cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(lambda name: _asset(f"templates/{name}")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda count: f"{count:,}"
    return environment


@lru_cache
def _asset(name: str) -> str:
    return resources.files(_ROOM).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
