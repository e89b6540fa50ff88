"""Pages of reports: what all of them share."""

import base64
import hashlib
import html
import re
from functools import lru_cache
from importlib.resources import files

from ..decisions import FILTERS
from ..escaping import as_html, visible
from ..optional import import_optional

# Hebrew, Arabic and other scripts that are written from right to left.
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUN = re.compile(f"[{_LEFTWARD}]+(?:[^\\S\n]+[{_LEFTWARD}]+)*")


# What a sentence emphasizes on a page, and what one types.
_STRONG, _CODE = re.compile(r"\*\*(.+?)\*\*"), re.compile("`(.+?)`")
# Short code fits a line of a phone, and is not broken, at a hyphen for example.
_SHORT_CODE, _KEPT = re.compile("(?<![^\\s(])`([^`]{1,28})`"), r'<code class="whole">\1</code>'


def make_finalizer(markup):
    """Return the function that every expression of a template passes through before escaping."""

    def finalize(value):
        return visible(value) if isinstance(value, str) and not isinstance(value, markup) else value

    return finalize


def make_filters(markup):
    """Return filters that keep the direction of foreign text from changing the text around it."""
    element = markup("<bdi>{}</bdi>")

    def isolate(value):
        return element.format(visible(value))

    def isolate_runs(text):
        # Escaping first is safe: it neither adds nor removes any of these letters.
        return markup(_RUN.sub(r"<bdi>\g<0></bdi>", str(markup.escape(visible(text)))))

    def emphasize(text):
        # A string, because a substitution in markup would escape what is put in.
        text = _STRONG.sub(r"<b>\1</b>", str(isolate_runs(text)))
        return markup(_CODE.sub(r"<code>\1</code>", _SHORT_CODE.sub(_KEPT, text)))

    return {"bdi": isolate, "prose": isolate_runs, "strong": emphasize}


def make_policy(style):
    """Return a content security policy that allows this style, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def render_page(name, package, own_style=None, **content):
    """Render a page with its style, and a policy that allows nothing else.

    own_style: of a page that does not share that of reports, a file beside its template.
    """
    jinja2 = import_optional("jinja2", extra="report")
    style, template = _load_template(jinja2, name, package, own_style)
    return template.render(style=style, policy=make_policy(style), **content)


@lru_cache  # because compiling takes as long as rendering
def _load_template(jinja2, name, package, own_style):
    """Return the style and the compiled template."""
    markup = jinja2.utils.markupsafe.Markup
    shared = {part: __package__ for part in ("page_base.html.j2", "page_parts.html.j2")}
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda part: _read_resource(part, shared.get(part, package))),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=make_finalizer(markup),
    )
    environment.filters |= make_filters(markup) | FILTERS
    return markup(_read_style(own_style, package)), environment.get_template(name)


def _read_style(name, package):
    """Return the style without the spaces that only its readers need."""
    text = (
        _read_resource("page.css", __package__) if name is None else _read_resource(name, package)
    )
    text = " ".join(text.split()).replace(": ", ":")
    return re.sub(r" ?([{};,]) ?", r"\1", text)


def _read_resource(name, package):
    return (files(package) / name).read_text(encoding="utf-8")


def frame_page(report, title):
    """Return the page of a report, without jinja2 its text.

    A frame keeps its style off the notebook's; it is as wide as the cell, its border included.
    """
    try:
        page = report.to_html()
    except ImportError:
        return as_html(report.summary())
    return (
        f'<iframe sandbox="" srcdoc="{html.escape(page)}" title="{html.escape(title)}" '
        'style="width: 100%; height: 40rem; border: 1px solid #888; box-sizing: border-box">'
        "</iframe>"
    )
