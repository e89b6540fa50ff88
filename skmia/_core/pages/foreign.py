"""Foreign text on the page, and the page's content security policy."""

import base64
import hashlib
import re

from ..visible import visible

# Hebrew, Arabic and other scripts that are written from right to left.
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUN = re.compile(f"[{_LEFTWARD}]+(?:[^\\S\n]+[{_LEFTWARD}]+)*")


def make_finalizer(markup):
    """Return the function that every expression of a template passes through before escaping.

    Parameters
    ----------
    markup : type
        Type of text that is already markup.

    Returns
    -------
    finalize : callable
    """

    def finalize(value):
        return visible(value) if isinstance(value, str) and not isinstance(value, markup) else value

    return finalize


def make_filters(markup):
    """Return filters that keep the direction of foreign text from changing the text around it.

    Parameters
    ----------
    markup : type
        Type of text that is already markup.

    Returns
    -------
    filters : dict of str to callable
        ``bdi`` for a name or a value, ``prose`` for a sentence that contains some.
    """
    element = markup("<bdi>{}</bdi>")

    def isolate(value):
        return element.format(visible(value))

    def isolate_runs(text):
        # Escaping first is safe: it neither adds nor removes any of these letters.
        return markup(_RUN.sub(r"<bdi>\g<0></bdi>", str(markup.escape(visible(text)))))

    return {"bdi": isolate, "prose": isolate_runs}


def make_policy(style, script):
    """Return a content security policy that allows this style and this script, and nothing else.

    Parameters
    ----------
    style, script : str
        Content of the style and script elements.

    Returns
    -------
    policy : str
    """
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text):
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
