"""Tables of calls and the answers that they should give."""

import math

import numpy as np
import pandas as pd


def expect_answers(rows):
    """Fail if the answer of a call, as a function without arguments, is not the one beside it."""
    wrong = []
    for call, wanted in rows:
        found = as_plain(call())
        if not agree(found, as_plain(wanted)):
            wrong.append(f"line {call.__code__.co_firstlineno}: {found!r}, not {wanted!r}")
    assert not wrong, "\n".join(wrong)


def as_plain(value):
    """Return a value with lists for arrays and dicts of lists for frames, at any depth."""
    if isinstance(value, np.ndarray | np.generic | pd.Series):
        return as_plain(value.tolist()) if np.ndim(value) else value.item()
    if isinstance(value, pd.DataFrame):
        return as_plain(value.to_dict("list"))
    if isinstance(value, dict):
        return {key: as_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [*map(as_plain, value)] if isinstance(value, list) else (*map(as_plain, value),)
    return value


def agree(found, wanted):
    """Return whether plain values are the same, numbers but for rounding."""
    if isinstance(wanted, float):
        both_nan = found != found and wanted != wanted
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return both_nan or (is_number and math.isclose(found, wanted, rel_tol=1e-6, abs_tol=1e-12))
    if isinstance(wanted, dict):
        is_alike = isinstance(found, dict) and found.keys() == wanted.keys()
        return is_alike and all(agree(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list | tuple):
        is_alike = isinstance(found, type(wanted)) and len(found) == len(wanted)
        return is_alike and all(map(agree, found, wanted))
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def tell_refusal(call):
    """Return the message of the error in which a call ends; None if it ends in none."""
    try:
        call()
    except Exception as error:  # of whatever kind: the message is what is expected
        return str(error)
    return None
