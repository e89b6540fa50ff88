"""Kinds of values of a JSON document.

Each kind is a function of a value and its place. It raises a ValueError that names the field, the
expected kind and the value that was found.
"""

import reprlib

from .visible import visible

# Largest number in a document: audits do not produce larger ones, and floats overflow soon after.
_LARGEST = 1e300

# The size for six fields of a hundred groups each, or for a table of thousands of columns; the page
# of a larger document takes minutes.
_MOST_VALUES, _DEEPEST = 500_000, 20


def refuse(where, wanted, value):
    raise ValueError(f"{where or 'the document'} must be {wanted}; got {reprlib.repr(value)}")


def check_fields(document, kind, added):
    """Check size and kind of a document; return it with the fields that were added since."""
    _check_size(document)
    if isinstance(document, dict):
        document = document | {name: added[name] for name in added if name not in document}
    kind(document, "")
    return document


def _check_size(document):
    """Refuse a document with too many values or with arrays nested too deep."""
    waiting, n_values = [(document, 1)] if isinstance(document, dict | list) else [], 0
    while waiting:
        value, depth = waiting.pop()
        n_values += len(value)
        if n_values > _MOST_VALUES:
            raise ValueError(f"it has more than {_MOST_VALUES:,} values")
        if depth > _DEEPEST:
            raise ValueError(f"its arrays and objects are nested more than {_DEEPEST} deep")
        inner = value.values() if isinstance(value, dict) else value
        waiting += [(item, depth + 1) for item in inner if isinstance(item, dict | list)]


def number(low=-_LARGEST, high=_LARGEST):
    def check(value, where):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high:
            span = "" if high == _LARGEST else f" from {low:g} to {high:g}"
            refuse(where, f"a number{span}", value)

    return check


def count(low=0):
    def check(value, where):
        is_whole = isinstance(value, int) and not isinstance(value, bool)
        if not is_whole or not low <= value <= _LARGEST:
            refuse(where, f"a whole number from {low} on", value)

    return check


def text(value, where):
    if not isinstance(value, str):
        refuse(where, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        refuse(where, "text that can be written", value)


def word(*words):
    def check(value, where):
        if not isinstance(value, str) or value not in words:
            refuse(where, f"one of {', '.join(words)}", value)

    return check


def maybe(check_it):
    def check(value, where):
        if value is not None:
            check_it(value, where)

    return check


def either(*checks):
    def check(value, where):
        for number, check_it in enumerate(checks):
            try:
                return check_it(value, where)
            except ValueError:
                if number == len(checks) - 1:
                    raise

    return check


def many(check_it, low=0, high=None):
    def check(value, where):
        if not isinstance(value, list):
            refuse(where, "an array", value)
        if len(value) < low or (high is not None and len(value) > high):
            wanted = f"at least {low}" if len(value) < low else f"at most {high}"
            raise ValueError(f"{where} must have {wanted} entries; got {len(value)}")
        for place, item in enumerate(value):
            check_it(item, f"{where}[{place}]")

    return check


def mapping(check_it, high=None):
    def check(value, where):
        if not isinstance(value, dict):
            refuse(where, "an object", value)
        if high is not None and len(value) > high:
            raise ValueError(f"{where} must have at most {high} fields; got {len(value)}")
        for key, item in value.items():
            text(key, f"a name in {where}")
            check_it(item, f"{where}.{visible(key)}")

    return check


def fields(**fields):
    """An object with at least these fields."""

    def check(value, where):
        if not isinstance(value, dict):
            refuse(where, "an object", value)
        missing = [name for name in fields if name not in value]
        if missing:
            raise ValueError(f"{where or 'the document'} lacks {', '.join(missing)}")
        for name, check_it in fields.items():
            check_it(value[name], f"{where}.{name}" if where else name)

    return check


def with_later(kind, **later):
    """An object of a kind that may also have these fields, which earlier documents lack."""

    def check(value, where):
        kind(value, where)
        for name, check_it in later.items():
            if name in value:
                check_it(value[name], f"{where}.{name}")

    return check


def flag(value, where):
    if not isinstance(value, bool):
        refuse(where, "true or false", value)
