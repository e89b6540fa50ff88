"""How many shadow models an audit trains if it chooses their number, and what is said of it."""

from .._core.escaping import visible

# Value of the parameter ``shadows`` for which the audit chooses the number of shadow models.
AUTO = "auto"

# Why no further shadow models were trained.
ENOUGH, MOST, TIME, UNMEASURED = "enough", "most", "time", "unmeasured"
MEMORY = "memory"

# Numbers of shadow models. With a time budget, growth begins at the first, and else at the second.
SIZES = (4, 8, 16, 32, 64)


def expect_gain(step):
    """Return what the next doubling is expected to add to the power, or None.

    What is lacking to the power of many models is taken to be inversely proportional to the number
    of models that a victim is compared with. A shadow model in its place is compared with two
    fewer, because the model that was drawn in a pair with it leaves as well.
    """
    n = step["n_shadows"]
    if step["gain"] is None or n <= 4:
        return None
    last, following = 1 / (n / 2 - 2) - 1 / (n - 2), 1 / n - 1 / (2 * n)
    return max(step["gain"], 0.0) * following / last


def is_enough(steps):
    """Whether the next doubling would add no more to the power than single models differ by."""
    gain = expect_gain(steps[-1])
    return gain is not None and gain <= steps[-1]["sd"]


def foresee_size(steps, size, most=SIZES[-1]):
    """Return the number of models with which the training of more will probably end.

    What a doubling is expected to add is half of what the one before it was expected to add.
    """
    if not steps or steps[-1]["n_shadows"] < size:
        return min(2 * size, most)  # nothing is known
    gain, spread = expect_gain(steps[-1]), steps[-1]["sd"]
    size = 2 * size
    while gain is not None and size < most and gain / 2 > spread:
        size, gain = 2 * size, gain / 2
    return min(size, most)


def list_wrong_growth(document):
    """Yield what contradicts itself in the growth of a document from an untrusted source."""
    growth = document["growth"]
    if growth is None:
        return
    n, steps, reason = growth["n_shadows"], growth["steps"], growth["reason"]
    sizes = [step["n_shadows"] for step in steps]
    gains = [step["gain"] is None for step in steps]
    wrong = {
        "growth.n_shadows is not settings.n_shadows": n != document["settings"]["n_shadows"],
        "growth.steps must be in the order of n_shadows": sizes != sorted(set(sizes)),
        "growth.steps has a number beyond growth.n_shadows": bool(steps) and sizes[-1] > n,
        "growth.steps must have a gain except for the first": any(gains[1:]) or not all(gains[:1]),
        "growth.steps must have an error for each gain, and only then": gains
        != [step["gain_standard_error"] is None for step in steps],
        "growth.steps names an attack that settings lacks": not {step["attack"] for step in steps}
        <= set(document["settings"]["attacks"]),
        "growth.max_fpr must be there for a TPR, and only then": (growth["metric"] == "tpr")
        != (growth["max_fpr"] is not None),
        "growth.reason is another than its steps say": (reason == ENOUGH)
        != (bool(steps) and sizes[-1] == n and n < SIZES[-1] and is_enough(steps)),
        "growth.reason is not that of its number": (reason == MOST) != (n >= SIZES[-1]),
        "growth.time_budget must be there if it ended the training": reason == TIME
        and growth["time_budget"] is None,
    }
    yield from (what for what, holds in wrong.items() if holds)


def describe_growth(growth):
    """Describe in a line how many shadow models were trained, why, and what more would bring."""
    trained = f"{growth['n_shadows']} shadow models were trained."
    return visible(" ".join([trained, *_describe_power(growth), _describe_next(growth)]))


def _describe_power(growth):
    """Return a sentence on what the last doubling brought, or none if it was not measured."""
    if not growth["steps"]:
        return []
    last = growth["steps"][-1]
    name, level = "AUC", f"{last['power']:.3f}"
    if growth["metric"] == "tpr":
        name, level = f"TPR at {100 * growth['max_fpr']:g}% FPR", f"{100 * last['power']:.1f}%"
    power = f"the {name} of {last['attack']} on shadow models treated as the victim"
    if last["gain"] is None:
        return [f"With {last['n_shadows']}, {power} is {level}."]
    gain, error = (_format_growth(growth, last[key]) for key in ("gain", "gain_standard_error"))
    sign = "-" if last["gain"] < 0 else "+"
    unit = " percentage points" if growth["metric"] == "tpr" else ""
    return [f"The last doubling changed {power} by {sign}{gain} ± {error}{unit} to {level}."]


def _format_growth(growth, value):
    """Format a difference without its sign, in percentage points if it is one of rates."""
    return f"{abs(value):.3f}" if growth["metric"] == "auc" else f"{100 * abs(value):.1f}"


def _describe_next(growth):
    """Return a sentence on what the next doubling would cost and bring, and why it was left out."""
    steps, reason = growth["steps"], growth["reason"]
    if reason == UNMEASURED:
        return "No attack can be repeated on them, so their number does not depend on its power."
    would = f"{growth['n_shadows']} more models would take {_describe_time(growth)}"
    gain = expect_gain(steps[-1]) if steps else None
    if gain is not None:
        unit = " points" if growth["metric"] == "tpr" else ""
        would += f", for an expected gain of {_format_growth(growth, gain)}{unit}"
    if reason == ENOUGH:
        spread = _format_growth(growth, steps[-1]["sd"])
        return f"{would}, within the standard deviation between models, {spread}."
    if reason == MOST:
        return f"{would}; {SIZES[-1]} is the most that are trained."
    if reason == MEMORY:
        return f"{would}; memory did not suffice for them."
    return f"{would}, beyond the time budget of {growth['time_budget']:g} seconds."


def _describe_time(growth):
    if growth["seconds_per_model"] is None:
        return "as long as these"
    seconds = growth["n_shadows"] * growth["seconds_per_model"]
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"about {seconds / unit:.0f} {name}"
    return f"about {seconds:.0f} seconds" if seconds >= 2 else "2 seconds at most"
