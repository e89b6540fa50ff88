"""Messages of other packages as a user of a command can read them."""

import re

# What stands in messages for those who write the packages: where in C++ an error was raised, what
# was called there, addresses in memory, and codes.
_INSIDE = (
    re.compile(r"Stack trace:.*", re.DOTALL),
    re.compile(r"Traceback \(most recent call last\):.*", re.DOTALL),
    re.compile(r"\[\d\d:\d\d:\d\d\]\s*"),
    re.compile(r"(?:\bat )?[\w./\\-]+\.(?:cc|cpp|cxx|cu|hpp|h)(?:[:,] ?(?:line )?\d+)?\s*:?\s*"),
    re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : "),
    re.compile(r"(?:\bat )?\b0x[0-9a-fA-F]+\b"),
    re.compile(r"\(Triggered internally at [^)]*\)"),
    re.compile(r"(?:See|Please see|You can find) \S*\s?.*https?://.*", re.DOTALL),
)
# Words of the packages, and what they mean.
_WORDS = (
    (re.compile(r"ufunc '(\w+)' (?:not supported|did not contain a loop).*"), "text among numbers"),
    (re.compile(r"dtype\(?['\"]?<?(\w+)['\"]?\)?"), r"type \1"),
    (re.compile(r"dtype='([^']+)'"), r"type \1"),
    (re.compile(r"\bDataFrame\.dtypes\b"), "The types of the columns"),
    (re.compile(r"\bdtypes\b"), "types"),
    (re.compile(r"\bdtype\b"), "type"),
    (re.compile(r"\b(?:numpy\.|np\.)?ndarray\b"), "array"),
    (re.compile(r"\b(?:torch\.)?(?:Float|Double|Long|Int|Bool|Half)?Tensor\b"), "array"),
    (re.compile(r"\btensors?\b"), "array"),
    (re.compile(r"\bDataFrame\.(?:iloc|loc)\b"), "rows"),
    (re.compile(r"\bnp\.(?:str_|float64|int64|bool_?)\(([^()]*)\)"), r"\1"),
    (re.compile(r"\b(?:numpy|np|torch|pandas|pd|sklearn)\.(?=\w)"), ""),
)


def describe_error(error):
    """Return the message of an error as one line; of another package without its inside."""
    text = str(error)
    is_foreign = getattr(error, "__traceback__", None) and name_package(error) != "skmia"
    return say_plainly(text) if is_foreign else " ".join(text.split())


def name_package(error):
    """Return the package of the code that raised an error; "" if none did."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return "" if where is None else where.tb_frame.f_globals.get("__name__", "").partition(".")[0]


def say_plainly(text):
    """Return a message as one line, without the inside of the package that wrote it."""
    for pattern in _INSIDE:
        text = pattern.sub("", text)
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return " ".join(text.split()).strip(" :;,")
