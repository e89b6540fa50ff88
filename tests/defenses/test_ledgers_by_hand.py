"""Lines of ledgers, cells of schemas and copies of rows, each decision with an answer by hand."""

import datetime
import json
from fractions import Fraction
from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from sklearn.linear_model import LogisticRegression

from skmia._core.accountant import ORDERS
from skmia.defenses import _evaluation, _ledger, _meta, mechanisms, schema

N = len(ORDERS)
FIT = {
    "kind": "fit",
    "noise_multiplier": 2.0,
    "sample_rate": 0.25,
    "n_steps": 7,
    "n_rows": 9,
}
FIRST = _ledger._write_first_line("me", "now")


def check_fit(divergences=None, **changes):
    """Check the values of a line; return the message of a refusal."""
    try:
        return _ledger._check_fit(*({**FIT, **changes}).values(), divergences)
    except (TypeError, ValueError) as error:
        return str(error)[:28]


def write_fits(*fits):
    """Return the lines of fits, and the digests after none, one and so on."""
    lines, digests = [], ["me"]
    for number, fit in enumerate(fits, 1):
        line, digest = _ledger._write_ledger_line(number, fit, digests[-1])
        lines.append(line)
        digests.append(digest)
    return lines, digests


def parse(fits, of_first=None, of_second=None, first=FIRST, tail=b""):
    """Parse a ledger whose two numbers count so many fits each; none where that is None."""
    lines, digests = write_fits(*fits)
    counts = [
        b" " * 127 + b"\n"
        if n is None
        else _ledger._write_count(n, digests[n] if n < len(digests) else "later")
        for n in (of_first, of_second)
    ]
    content = b"".join([first, *counts, *lines])
    found = _ledger._parse_ledger(content + tail, "a")
    assert found.content == content and found.digests == digests
    return found.identity, found.began, len(found.fits), found.older - len(first)


def refuse(call):
    """Return a few words of a refusal that tell it from the others."""
    words = tell_refusal(call) or ""
    known = (
        "empty file",
        "was cut: it holds 1 of 2",
        "not those that it counted",
        "earlier version",
        "not a ledger of private fits: '[1]'",
        'not a ledger of private fits: \'{"ledger": "other"}\'',
        "first line",
        "how many fits it has: it was cut",
        "Fit 1 of the ledger 'a' is not what was written: it was edited",
        "Fit 2 of the ledger 'a' is not what was written: it was edited",
        "Fit 1 of the ledger 'a' is not what was written: '{}'",
        "Fit 1 of the ledger 'a' is not what was written: n_steps",
    )
    return [word for word in known if word in words]


def first_words(**values):
    """Return the end of the refusal of a first line with these values, and of the line."""
    line = json.dumps(values.get("names", values)).encode()
    why = tell_refusal(lambda: _ledger._read_first_line(line, "'a'"))
    return why[4:27], why.rpartition(": ")[2].count("x")


def read_line(line, number=1, previous="me"):
    return _ledger._read_line(line.removesuffix(b"\n"), number, previous, "'a'")


def price(*fits):
    """Return what a price is computed from."""
    asked = []
    before = _ledger.total_epsilon
    _ledger.total_epsilon = lambda *given: asked.append(given) or 5.0
    try:
        return _ledger._price(fits, 0.1, "prv"), *asked
    finally:
        _ledger.total_epsilon = before


def own_price(kind, noise, rate=0.5, n=1, **more):
    return {"kind": kind, "noise_multiplier": noise, "sample_rate": rate, "n_steps": n, **more}


def check_limit(max_epsilon, spent=1.0, after=2.0):
    """Check a limit where one fit costs so much, and two."""
    given = []

    def tell(fits, delta, accountant):
        given.append((len(fits), delta, accountant))
        return spent if len(fits) == 1 else after

    before, _ledger._price = _ledger._price, tell
    ledger, book = NS(path="a", max_epsilon=max_epsilon, delta=0.5), NS(fits=[FIT])
    try:
        why = tell_refusal(lambda: _ledger.PrivacyLedger._check_limit(ledger, book, FIT))
    finally:
        _ledger._price = before
    return why and why.partition("spent, ")[2][:19], given


def give_up(epsilon):
    """Return by how much less than the profile allows a shift is."""
    found = mechanisms._largest_shift(epsilon, 0.01)
    low, high = found / 2, found * 2
    for _ in range(70):
        middle = (low + high) / 2
        fits = mechanisms.privacy_profile(epsilon, middle) <= 0.01
        low, high = (middle, high) if fits else (low, middle)
    return round((1 - found / low) / 3e-14 / (1 + 1 / epsilon), 1)


def copy_rows(targets, sample_weight=None):
    weight = None if sample_weight is None else array(sample_weight)
    X = array([[1.0], [2.0]])
    return _meta._copy_rows(X, array(targets), array(["a", "b"]), weight)


class Hinge:
    pass


def ask_units(logits):
    asked = []
    net = NS(forward=lambda X: asked.append(X) or logits)
    return *_meta._ask_units(net, array([[1.0], [2.0], [3.0]])), asked


def find_calibration_error(confidence, right):
    proba = [[one, 1 - one] for one in confidence]
    return float(_evaluation._compute_calibration_error(array(proba), array(right)))


def read_cells(values, **more):
    found = schema._parse_cells(pd.Series(values, **more))
    return ["foreign" if one is schema._FOREIGN else one for one in found]


def take_column(names, name):
    X = pd.DataFrame([range(len(names))], columns=pd.Index(names, dtype=object))
    try:
        return schema._take_column(X, name).tolist()
    except ValueError as error:
        return str(error).partition("; ")[2]


ANSWERS = {
    _ledger: [
        (lambda: check_fit(), FIT),
        (lambda: list(check_fit()), [*FIT]),
        (lambda: type(check_fit(noise_multiplier=2)["noise_multiplier"]).__name__, "float"),
        (lambda: type(check_fit(sample_rate=1)["sample_rate"]).__name__, "float"),
        (
            lambda: type(check_fit(sample_rate=np.float32(0.5))["sample_rate"]).__name__,
            "float",
        ),
        (lambda: check_fit(noise_multiplier=0)["noise_multiplier"], 0.0),
        (lambda: check_fit(noise_multiplier=-1e-9), "noise_multiplier must be fini"[:28]),
        (lambda: check_fit(noise_multiplier=inf), "noise_multiplier must be fini"[:28]),
        (lambda: check_fit(sample_rate=5e-324)["sample_rate"] > 0, True),
        (lambda: check_fit(sample_rate=0.0), "sample_rate must be above 0 "),
        (lambda: check_fit(sample_rate=1.0)["sample_rate"], 1.0),
        (lambda: check_fit(sample_rate=1.01), "sample_rate must be above 0 "),
        (lambda: check_fit(n_steps=1)["n_steps"], 1),
        (lambda: check_fit(n_steps=0)[:7], "n_steps"),
        (lambda: check_fit(n_rows=1)["n_rows"], 1),
        (lambda: check_fit(n_rows=0)[:6], "n_rows"),
        (lambda: check_fit(kind="fit from public weights", n_rows=0)[:6], "n_rows"),
        (lambda: check_fit(kind="normal", n_rows=0)["n_rows"], 0),
        (lambda: check_fit(kind="laplace", n_rows=0)["kind"], "laplace"),
        (lambda: check_fit(kind="normal", n_rows=-1)[:6], "n_rows"),
        (lambda: check_fit(kind="other")[:4], "kind"),
        (
            lambda: check_fit([0.5] * N, kind="search", noise_multiplier=None),
            {
                "kind": "search",
                "noise_multiplier": 1.0,
                "sample_rate": 1.0,
                "n_steps": 1,
                "n_rows": 9,
                "divergences": [0.5] * N,
            },
        ),
        (lambda: check_fit([0] * N, kind="search")["divergences"] == [0.0] * N, True),
        (lambda: check_fit([-0.1] * N, kind="search"), "divergences must be finite a"),
        (lambda: check_fit([0.1] * (N - 1), kind="search"), f"divergences must be {N} number"[:28]),
        (lambda: check_fit((0.1,) * N, kind="search"), f"divergences must be {N} number"[:28]),
        (lambda: check_fit([0.1] * N, kind="search", n_rows=0)[:6], "n_rows"),
        (lambda: tell_refusal(lambda: _ledger._check_delta(1e-300)), None),
        (lambda: tell_refusal(lambda: _ledger._check_delta(0.0))[:5], "delta"),
        (lambda: tell_refusal(lambda: _ledger._check_delta(1 - 1e-15)), None),
        (lambda: tell_refusal(lambda: _ledger._check_delta(1.0))[:5], "delta"),
        # Prices
        (
            lambda: price(own_price("fit", 2.0, 0.25, 7), own_price("normal", 3.0, n=5)),
            (5.0, ([(2.0, 0.25, 7)], [(3.0, 5)], [], 0.1, "prv", [])),
        ),
        (
            lambda: price(
                own_price("fit from public weights", 2.0),
                own_price("search", 1.0, divergences=[1.0, 4.0]),
                own_price("laplace", 4.0, n=3),
            ),
            (5.0, ([(2.0, 0.5, 1)], [], [(0.25, 3)], 0.1, "prv", [[1.0, 4.0]])),
        ),
        (lambda: price(own_price("fit", 2.0), own_price("normal", 9e-101)), (inf,)),
        (lambda: price(own_price("fit", 1e-100))[0], 5.0),
        (lambda: check_limit(None), (None, [])),
        (lambda: check_limit(2.0), (None, [(1, 0.5, "rdp"), (2, 0.5, "rdp")])),
        (lambda: check_limit(2.0, after=2.0 + 1.9e-9)[0], None),
        (lambda: check_limit(2.0, after=2.0 + 2.1e-9)[0], "and it would be 2, "),
        (lambda: check_limit(2.0, after=2.0 * (1 + 1e-9))[0], None),
        (lambda: check_limit(1.5)[0], "and it would be 2, "),
        # The file
        (lambda: len(_ledger._write_count(3, "x")), 128),
        (lambda: _ledger._write_count(3, "x")[-2:], b" \n"),
        (lambda: parse([FIT, FIT], 1, 2), ("me", "now", 2, 0)),
        (lambda: parse([FIT, FIT], 2, 1), ("me", "now", 2, 128)),
        (lambda: parse([FIT, FIT], 0, 1, tail=b'{"fit": 3'), ("me", "now", 2, 0)),
        (lambda: parse([FIT], 0, None), ("me", "now", 1, 128)),
        (lambda: parse([FIT], None, 0), ("me", "now", 1, 0)),
        (lambda: parse([], 0, 0), ("me", "now", 0, 128)),
        (lambda: refuse(lambda: parse([FIT], 1, None)), ["was cut: it holds 1 of 2"]),
        (lambda: refuse(lambda: parse([FIT], 1, 2)), ["was cut: it holds 1 of 2"]),
        (
            lambda: refuse(lambda: parse([FIT], None, None)),
            ["how many fits it has: it was cut"],
        ),
        (lambda: refuse(lambda: _ledger._parse_ledger(b"", "a")), ["empty file"]),
        (
            lambda: refuse(
                lambda: _ledger._parse_ledger(
                    FIRST
                    + _ledger._write_count(0, "me")
                    + _ledger._write_count(1, "x")
                    + write_fits(FIT)[0][0],
                    "a",
                )
            ),
            ["not those that it counted"],
        ),
        (
            lambda: refuse(
                lambda: parse(
                    [], 0, 0, b'{"noise_multiplier":1,"sample_rate":1,"n_steps":1,"n_rows":1}\n'
                )
            ),
            ["earlier version"],
        ),
        (
            lambda: refuse(lambda: parse([], 0, 0, b"[1]\n")),
            ["not a ledger of private fits: '[1]'"],
        ),
        (
            lambda: refuse(lambda: parse([], 0, 0, b'{"ledger": "other"}\n')),
            ['not a ledger of private fits: \'{"ledger": "other"}\''],
        ),
        (
            lambda: refuse(lambda: parse([], 0, 0, FIRST.replace(b"now", b"how"))),
            ["first line"],
        ),
        (
            lambda: refuse(lambda: parse([], 0, 0, b'{"ledger": "private fits of skmia"}\n')),
            ["first line"],
        ),
        (lambda: first_words(**FIT), ("is a ledger of an earli", 0)),
        (lambda: first_words(**FIT, ledger="x"), ("is not a ledger of priv", 0)),
        (lambda: first_words(names=[*FIT]), ("is not a ledger of priv", 0)),
        (lambda: first_words(), ("is not a ledger of priv", 0)),
        (
            lambda: first_words(sample_rate=1, n_steps=1, n_rows=1),
            ("is not a ledger of priv", 0),
        ),
        (lambda: first_words(names="x" * 70), ("is not a ledger of priv", 59)),
        (
            lambda: tell_refusal(lambda: read_line(b"x" * 70)).count("x"),
            60,
        ),
        (lambda: read_line(*write_fits(FIT)[0]), (FIT, write_fits(FIT)[1][1])),
        (
            lambda: refuse(lambda: read_line(write_fits(FIT)[0][0].replace(b"7", b"8"))),
            ["Fit 1 of the ledger 'a' is not what was written: it was edited"],
        ),
        (
            lambda: refuse(lambda: read_line(write_fits(FIT)[0][0], 2)),
            ["Fit 2 of the ledger 'a' is not what was written: it was edited"],
        ),
        (
            lambda: refuse(lambda: read_line(write_fits(FIT)[0][0], previous="you")),
            ["Fit 1 of the ledger 'a' is not what was written: it was edited"],
        ),
        (
            lambda: refuse(lambda: read_line(b"{}")),
            ["Fit 1 of the ledger 'a' is not what was written: '{}'"],
        ),
        (
            lambda: refuse(lambda: read_line(write_fits({**FIT, "n_steps": 0})[0][0])),
            ["Fit 1 of the ledger 'a' is not what was written: n_steps"],
        ),
        (lambda: _ledger._parse_ledger_line(b"[" * 200_000), None),
        (lambda: _ledger._parse_ledger_line(b"{"), None),
        (lambda: _ledger._parse_ledger_line(b"[2]"), [2]),
        (lambda: _ledger._decode_line(b"a\xff\nb"), "a\ufffd"),
    ],
    mechanisms: [
        (lambda: give_up(1e-3), 1.0),
        (lambda: give_up(1e-2), 1.0),
        (lambda: mechanisms._largest_shift(1.0, 0.5) > 1, True),
        (lambda: 0 < mechanisms._largest_shift(1.0, 1e-9) < 0.5, True),
    ],
    _meta: [
        (
            lambda: copy_rows([[0.25, 0.75], [0.0, 1.0]]),
            ([[1.0], [1.0], [2.0]], ["a", "b", "b"], [0.25, 0.75, 1.0]),
        ),
        (lambda: copy_rows([[0.25, 0.75], [0.0, 1.0]], [2.0, 3.0])[2], [0.5, 1.5, 3.0]),
        (lambda: copy_rows([[2.0**-42, 1.0], [1.0, 2.0**-41]])[0], [[1.0], [2.0]]),
        (lambda: [one * 2**40 for one in copy_rows([[1e-12, 1.0], [0.0, 0.0]])[2]], [1.0, 2.0**40]),
        (lambda: _meta._criterion_name(NS(criterion=Hinge)), "Hinge"),
        (lambda: _meta._criterion_name(NS(criterion=Hinge())), "Hinge"),
        (lambda: ask_units(np.zeros((2, 3)))[0], 3),
        (lambda: ask_units((np.zeros((2, 3)), 1))[2], [[[1.0], [2.0]]]),
        (lambda: ask_units(np.zeros((2, 3)))[1] is np.float64, True),
        (lambda: ask_units(np.zeros((2, 3), dtype=np.float32))[1] is np.float32, True),
        (
            lambda: tell_refusal(lambda: ask_units(np.zeros(2)))[-20:],
            " an array of shape (2,)."[-20:],
        ),
    ],
    _evaluation: [
        (lambda: find_calibration_error([0.7, 0.8, 1.0, 0.55], [1, 0, 1, 0]), 0.4125),
        (lambda: find_calibration_error([0.7, 0.68, 0.9], [1, 0, 1]), 0.16),
        (lambda: find_calibration_error([1.0, 0.95], [0, 1]), 0.475),
        (lambda: find_calibration_error([0.9, 0.95], [0, 1]), 0.475),
        (lambda: find_calibration_error([0.66, 0.67], [1, 0]), 0.505),
    ],
    schema: [
        (
            lambda: read_cells([None, nan, pd.NA, pd.NaT, "nan", "  "]),
            [None] * 6,
        ),
        (lambda: read_cells([" x ", "TRUE", "False ", "1.5"]), ["x", 1.0, 0.0, 1.5]),
        (
            lambda: read_cells(
                [
                    datetime.date(2020, 1, 2),
                    datetime.datetime(2020, 1, 2, 3, 4),
                    datetime.datetime(2020, 1, 2),
                    datetime.time(3, 4),
                ]
            ),
            ["2020-01-02", "2020-01-02 03:04:00", "2020-01-02", "foreign"],
        ),
        (lambda: schema._read_cell(np.datetime64("2020-01-02T03:04")), "2020-01-02 03:04:00"),
        (
            lambda: read_cells([Fraction(10**400), -Fraction(10**400), [1], 2j]),
            [inf, -inf] + ["foreign"] * 2,
        ),
        (lambda: read_cells([1.0, nan]), [1.0, None]),
        (lambda: read_cells([1, None], dtype="Int64"), [1.0, None]),
        (lambda: read_cells([True, False]), [1.0, 0.0]),
        (lambda: read_cells([2, 1], dtype="category"), [2.0, 1.0]),
        (lambda: read_cells([2j, 1j]), ["foreign"] * 2),
        (lambda: schema._read_typed_numbers(pd.Series([2, 1], dtype="category")), None),
        (lambda: schema._read_typed_numbers(pd.Series(["2"])), None),
        (lambda: schema._read_typed_numbers(pd.Series([2j])), None),
        (lambda: schema._read_typed_numbers(pd.Series([2, 1])), [2.0, 1.0]),
        (
            lambda: [
                np.shares_memory(schema._read_typed_numbers(one), one.to_numpy())
                for one in [pd.Series([2.0, 1.0])]
            ],
            [False],
        ),
        (lambda: schema._read_column_numbers(pd.Series(["2", "x", None])), [2.0, nan, nan]),
        (lambda: schema._read_column_numbers(pd.Series([3, 4])), [3.0, 4.0]),
        (
            lambda: schema._find_cell_places(pd.Series(["a", " b ", "c", None, 1]), ["b", 1, "a"]),
            [2, 0, -1, -1, 1],
        ),
        (lambda: schema._are_missing(pd.Series(["a", None, " "])), [False, True, True]),
        (lambda: schema._check_list_of_rows(((1, 2), "ab")), [[1, 2], ["a", "b"]]),
        (
            lambda: tell_refusal(lambda: schema._check_list_of_rows([[1], 2])),
            "X must be a dense table of rows; got list.",
        ),
        (
            lambda: tell_refusal(lambda: schema._check_list_of_rows({"a": [1]})),
            "X must be a dense table of rows; got dict.",
        ),
        (lambda: take_column(["a", "b"], "b"), [1]),
        (lambda: take_column(["a", "b"], "c"), "X has no such column."),
        (lambda: take_column(["a", "b", "a"], "a"), "X has 2 of them."),
        (lambda: take_column([True, 1], 1), [1]),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_a_training_without_weights_is_a_plain_fit():
    X, y = array([[0.0], [1.0], [2.0], [3.0]]), array([0, 0, 1, 1])
    plain = _meta.LabeledRows(X, y, None).fit_labels(LogisticRegression())
    assert plain.predict(X).tolist() == [0, 0, 1, 1]
    weighted = _meta.LabeledRows(X, y, array([1e-9, 1e-9, 1.0, 1.0]))
    assert weighted.fit_labels(LogisticRegression()).predict(X).tolist() == [1] * 4
    part = weighted.take([2, 0])
    assert (part.X.tolist(), part.y.tolist(), part.sample_weight.tolist()) == (
        [[2.0], [0.0]],
        [1, 0],
        [1.0, 1e-9],
    )
