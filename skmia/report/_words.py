"""Numbers, names and errors as words of a sentence."""


def format_rate(estimate, low, high):
    """Format a rate and its interval, ``56.1% [49.2, 61.0]``; small rates get one more digit."""
    digits = 1 if abs(estimate) >= 0.0995 else 2

    def percent(value):
        text = f"{100 * value:.{digits}f}"
        return {"100.0": "100", "-100.0": "-100", "-0.00": "0.00"}.get(text, text)

    return f"{percent(estimate)}% [{percent(low)}, {percent(high)}]"


def format_auc(estimate, low, high):
    """Format an AUC and its interval, ``0.973 [0.968, 0.977]``."""
    return f"{estimate:.3f} [{low:.3f}, {high:.3f}]"


def join_names(names, most=None):
    """Join names as in ``a, b and c`` or ``a, b and 3 more``."""
    names = list(names)
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def describe_error(error):
    """Describe an error in one sentence, with its class unless it is a ValueError."""
    text = " ".join(str(error).split()).rstrip(".")
    return f"{text}." if isinstance(error, ValueError) else f"{type(error).__name__}: {text}."
