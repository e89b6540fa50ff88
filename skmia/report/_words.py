"""Numbers, names and errors as words of a sentence."""

from .._core.budget import describe_lack, is_of_memory
from .._core.escaping import join_names as join_names
from .._core.text import drop_sign


def format_rate(estimate, low, high):
    """Format a rate and its interval, ``56.1% [49.2, 61.0]``; small rates get one more digit."""
    digits = 1 if abs(estimate) >= 0.0995 else 2

    def percent(value):
        text = f"{100 * value:.{digits}f}"
        return {"100.0": "100", "-100.0": "-100"}.get(text, drop_sign(text))

    return f"{percent(estimate)}% [{percent(low)}, {percent(high)}]"


def format_auc(estimate, low, high):
    """Format an AUC and its interval, ``0.973 [0.968, 0.977]``."""
    return f"{estimate:.3f} [{low:.3f}, {high:.3f}]"


def describe_with_class(error):
    """Describe an error in one sentence, with its class unless it is a ValueError."""
    if is_of_memory(error):
        why = describe_lack(error)
        return f"{why[0].upper()}{why[1:]}."
    text = " ".join(str(error).split()).rstrip(".")
    return f"{text}." if isinstance(error, ValueError) else f"{type(error).__name__}: {text}."
