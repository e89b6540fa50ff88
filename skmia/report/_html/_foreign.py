"""Text of others on the page, and what the page may do at all."""

import base64
import hashlib
import re

from ..._core.visible import visible

# Hebrew, Arabic and what else is written from right to left.
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
_RUN = re.compile(f"[{_LEFTWARD}]+(?:[^\\S\n]+[{_LEFTWARD}]+)*")


def make_finalizer(markup):
    """What every expression of a template passes through before it is escaped.

    Parameters
    ----------
    markup : type
        Of text that is markup already.

    Returns
    -------
    finalize : callable
    """

    def finalize(value):
        return visible(value) if isinstance(value, str) and not isinstance(value, markup) else value

    return finalize


def make_filters(markup):
    """Filters that keep the direction of foreign text to itself.

    Parameters
    ----------
    markup : type
        Of text that is markup already.

    Returns
    -------
    filters : dict of str to callable
        ``bdi`` for a name or a value, ``prose`` for a sentence that holds some.
    """
    element = markup("<bdi>{}</bdi>")

    def isolate(value):
        return element.format(visible(value))

    def isolate_runs(text):
        # What is escaped is none of these letters.
        return markup(_RUN.sub(r"<bdi>\g<0></bdi>", str(markup.escape(visible(text)))))

    return {"bdi": isolate, "prose": isolate_runs}


def make_policy(style, script):
    """A content security policy under which this style and this script run, and nothing else.

    Parameters
    ----------
    style, script : str
        What stands between the tags.

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
