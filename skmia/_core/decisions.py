"""Recommendations of a policy as lines of text, and the names that people give with them."""

from .text import count_nouns, escape, format_rows_of_table, quote, show_share, write_apart

# Names in the provenance for what output checkers ask, beside what repeats the measurement.
REQUEST = (
    "what is released",
    "recipients",
    "purpose",
    "subsets of the data used elsewhere",
    "public columns",
)

# Who signs a decision, and what each signature says.
ROLES = {
    "researcher": "asks for the release",
    "checker": "has read the audit",
    "second checker": "has repeated the command",
}

# What the controller of a model fills in on a sheet of evidence: a label, and the paragraph of
# Opinion 28/2024 of the European Data Protection Board that asks for it, if it is one alone.
EVIDENCE_FIELDS = {
    "purpose": ("What the model is for, and who can reach it", "paragraph 46"),
    "personal data": ("Whose data it was trained on, and from which sources", ""),
    "preparation": ("What was removed, replaced or aggregated before training", ""),
    "training": ("What in the training limits how much it learns of one person", ""),
    "outputs": ("What limits the answers: filters, rates, decimals, who may ask", ""),
    "means": ("What others could do: skills, cost, further data, other releases", "paragraph 58"),
    "later tests": ("When the tests are repeated, and by whom", "paragraph 55"),
}

# Reports also give the difference in accuracy, which is another number.
GAP_NOTE = (
    "gap: the mean of 1 - the probability of the label, over non-members minus over members; "
    "not the difference in accuracy."
)


def note_numbers(limits):
    """Return what the names of limits leave open, in one sentence; empty if nothing."""
    return GAP_NOTE if any(row["name"] == "gap" for row in limits) else ""


def list_decision(found):
    """Return the head of a recommendation, and what it says in lines."""
    lines = [*found["reasons"], *found["remarks"]]
    lines += [f"Not run: {text}" for text in found["not_run"]]
    lines += [f"Condition: {name}" for name in found["conditions"]]
    lines += [f"Measured under conditions: {row['name']}: {row['text']}" for row in found["tried"]]
    lines += [f"Needs a reason: {row['check']}" for row in found["reviews"]]
    policy = found["policy"]["name"]
    return f"As a {found['release']}, by the policy {policy}: {found['result']}", lines


def format_decision(found):
    """Format a recommendation as lines of Markdown, the last of which is empty."""
    policy, (head, lines) = found["policy"], list_decision(found)
    return [
        f"**{escape(head)}**",
        "",
        *(f"* {escape(line)}" for line in lines),
        "",
        *_tabulate_limits(found["limits"]),
        *_tabulate_checks(found["checks"]),
        *_list_requirements(found),
        *_list_origin(found["provenance"]),
        f"* policy: {escape(policy['name'])}; {_describe_hash(policy['sha256'])}",
        "",
    ]


def _tabulate_limits(limits):
    rows = [
        [
            row["name"],
            row["group"],
            f"{row['limit']:g}",
            format_measured(row),
            row["status"],
        ]
        for row in limits
    ]
    caption = "Limits, and what was measured in each group with the interval that is compared:"
    note = note_numbers(limits)
    table = _format_captioned_table(
        caption, ["number", "group", "limit", "measured", "result"], rows
    )
    return [*table, *([escape(note), ""] if note else [])]


def format_measured(row):
    """Return the number of a limit with its interval, each on its side of the limit."""
    if row["interval"] is None:
        return "-"
    return "{} [{}, {}]".format(*write_apart(show_share, row["interval"], row["limit"]))


# What templates write of a recommendation, and of numbers of things.
FILTERS = {"note_numbers": note_numbers, "measured": format_measured, "counted": count_nouns}


def _tabulate_checks(checks):
    rows = [[row["name"], row["level"], row["status"], row["text"]] for row in checks]
    caption = "Structural checks; passing them does not say that a model can be released:"
    return _format_captioned_table(caption, ["check", "level", "result", "found"], rows)


def _format_captioned_table(caption, head, rows):
    return [caption, "", *format_rows_of_table(head, rows), ""] if rows else []


def _tell_requirements(found):
    """Return what a release needs by the policy, in a line; empty for tables."""
    if found["release"] == "table":
        return ""
    able = {True: "able to find something", False: "not able to find anything"}
    listed = [f"{one['name']}: {able[one['is_met']]}" for one in found["requirements"]]
    return "; ".join(listed) or "nothing: the policy waives the rule"


def _list_requirements(found):
    told = _tell_requirements(found)
    return [f"* needed for a release: {escape(told)}"] if told else []


def _list_origin(provenance):
    """Return what was given, each in a line.

    Text of the request, and what is to be repeated as it is.
    """
    return [
        f"* {escape(name)}: {escape(text) if name in REQUEST else quote(text)}"
        for name, text in provenance.items()
        if text
    ]


def _describe_hash(digest):
    return f"SHA-256 {quote(digest)}" if digest else "it was changed and has no hash"
