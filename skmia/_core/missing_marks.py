"""Texts that stand for a missing value."""

# What pandas.read_csv takes as missing.
MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"]
    + ["<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)
# What else people write, in lower case and without blanks around it.
_MARKS = frozenset(
    ["?", "??", "-", "--", "---", "\u2013", "\u2014", ".", "..", "...", "*", "**", "***", "/", "_"]
    + ["x.x", "#", "na", "n.a.", "n.a", "n/d", "nd", "n.d.", "k.a.", "none", "nil", "\\n", "<null>"]
    + ["missing", "unknown", "undefined", "not available", "#div/0!", "#value!", "#ref!", "#num!"]
    + ["#name?", "#null!", "nat"]
    + [text.lower() for text in MISSING]
)


def is_mark(text):
    """Return whether a text is a well-known mark of a missing number."""
    return text.strip().lower() in _MARKS
