"""Templates of pages, each one HTML file that needs no other file."""

from functools import lru_cache
from importlib.resources import files

from ..optional import import_optional
from .decision import REQUEST, note_numbers, tell_requirements
from .foreign import make_filters, make_finalizer, make_policy


def render_page(name, package, **content):
    """Render a page with its style and script, and a policy that allows nothing else.

    Parameters
    ----------
    name : str
        File of the template, which extends ``page_base.html.j2``.
    package : str
        Package that holds the file.
    **content : dict
        What the template needs.

    Returns
    -------
    page : str

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    jinja2 = import_optional("jinja2", extra="report")
    style, script, template = _load_template(jinja2, name, package)
    policy = make_policy(style, script)
    return template.render(style=style, script=script, policy=policy, **content)


@lru_cache  # because compiling takes as long as rendering
def _load_template(jinja2, name, package):
    """Return style, script and the compiled template."""
    markup = jinja2.utils.markupsafe.Markup
    shared = {part: __package__ for part in ("page_base.html.j2", "page_parts.html.j2")}
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda part: _read_part(part, shared.get(part, package))),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=make_finalizer(markup),
    )
    environment.globals["request_fields"] = REQUEST
    told = {"note_numbers": note_numbers, "tell_requirements": tell_requirements}
    environment.filters |= make_filters(markup) | told
    style, script = (markup(_read_part(part, __package__)) for part in ("page.css", "page.js"))
    return style, script, environment.get_template(name)


def _read_part(name, package):
    return (files(package) / name).read_text(encoding="utf-8")
