"""Columns, kinds and persons of an audit of tables, each decision with an answer by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy.stats import norm

from skmia.synthetic import _kinds, _risks
from skmia.synthetic._table import _audit, _columns, _evidence, _measure, _people, _report


def kind(values, dtype=None):
    return _kinds._name_kind(pd.Series(values, dtype=dtype))


def read(values, kind=_kinds._NUMBERS):
    return _kinds._read_kind_numbers(pd.Series(values), kind)


def round_to(real, made, real_type, made_type):
    parts = [pd.Series(real, dtype=real_type), pd.Series(made, dtype=made_type)]
    found = _kinds._round_to_coarsest([part.to_numpy(dtype=float) for part in parts], parts)
    return [*found[0], *found[1]]


def unify(real, made):
    tables = {"real": pd.DataFrame({"c": real}), "synthetic": pd.DataFrame({"c": made})}
    return [[*table["c"]] for table in _kinds.unify(tables).values()]


def correlate(matrix, weights, by=1.0):
    """Compare weighted correlations with those of rows that are repeated."""
    repeated = np.repeat(array(matrix), weights, axis=0)
    found = _measure._correlate(array(matrix) * [1.0, by], array(weights, dtype=float))
    return found - np.corrcoef(repeated.T)


def bin_numbers(own, made, is_number=True):
    return _measure.TableSimilarity._bin(NS(_number=[is_number]), 0, array(own), array(made))


def check_columns(frame, names=("a", "b")):
    found = tell_refusal(
        lambda: _columns._check_same_columns(pd.DataFrame(columns=frame), list(names), "holdout")
    )
    return found and found[:40]


def read_codes(texts, numbers):
    parts = {"real": pd.Series(texts, dtype=object), "synthetic": pd.Series(numbers)}
    found = _columns._read_codes(parts, ["real"], [parts["synthetic"]])
    return found and ([*found[0]["synthetic"]], found[1][:17])


def convert(texts, others, dtype=None):
    parts = {"real": pd.Series(texts, dtype=object), "synthetic": pd.Series(others, dtype=dtype)}
    found = _columns._convert_texts(parts, ["real"], [parts["synthetic"]])
    return found and ([*found[0]["real"]], found[1])


def read_date(*texts):
    found = _columns._read_date(pd.Series(list(texts), dtype=object))
    return None if found is None else [None if pd.isna(one) else str(one.date()) for one in found]


def read_dates(real, made):
    parts = {"real": pd.Series(real, dtype=object), "synthetic": pd.Series(made, dtype=object)}
    found = _columns._read_dates(parts, [*parts])
    if found is None:
        return None
    dates = [[None if pd.isna(one) else str(one.date()) for one in found[0][k]] for k in parts]
    return dates, found[1]


def recognize_text(form):
    """Tell what identifiers 24 texts of ordered times are, in a form."""
    times = pd.date_range("2020-01-01", periods=24, freq="61h").strftime(form)
    return _columns._recognize(pd.Series(times, dtype=object), "a")


def as_text_column(values):
    found = _columns._as_text_column(pd.Series(values, dtype="category"))
    return found.dtype == object, [None if pd.isna(one) else one for one in found]


def count_copied(real, made, other="a"):
    tables = {"real": pd.DataFrame({"a": real}), "synthetic": pd.DataFrame({other: made})}
    return _columns.count_copied_identifiers(tables, "a")


def spell(real, made):
    parts = {"real": pd.Series(real, dtype=object), "synthetic": pd.Series(made, dtype=object)}
    found, words = _columns._spell_alike(parts)
    return [*found["real"]] == list(real), [*found["synthetic"]] == list(made), words


def round_alike(real, made):
    parts = {"real": pd.Series(real), "synthetic": pd.Series(made)}
    found, words = _columns._round_alike(parts)
    return float(found["real"].iloc[-1]), float(found["synthetic"].iloc[-1]), words


TENTHS, WHOLE, TENS = np.arange(10) + 0.1, np.arange(10.0), np.arange(10.0) * 10


def name_misfit(real, made, held=None):
    parts = {"real": pd.Series(real), "synthetic": pd.Series(made)}
    parts |= {} if held is None else {"holdout": pd.Series(held)}
    return _columns._name_misfit(parts)


def name_range(real, made):
    return _columns._name_range({"real": pd.Series(real), "synthetic": pd.Series(made)})


def codes(*names):
    return {str(k): array(one) for k, one in enumerate(names)}


def read_people(group_by, holdout=True):
    tables = {
        "real": pd.DataFrame({"a": [1, 2, 3], "p": ["x", "y", "x"]}),
        "holdout": pd.DataFrame({"a": [4, 5], "p": ["z", "y"]}),
    }
    tables = tables if holdout else {"real": tables["real"]}
    found, people = _people.read_people(tables, group_by)
    return found, people


halves, fourths = np.arange(40) // 20, np.arange(40) % 4


def grow_split(*columns):
    """Grow from the first of some columns of forty rows, of which half are in each table."""
    codes = dict(zip("abc", columns, strict=False))
    return _people._grow_split(codes, halves == 0, "a")


def has_crossed(*columns, is_real=None):
    is_real = np.arange(40) // 10 % 2 == 0 if is_real is None else is_real
    codes = dict(zip("abc", columns, strict=False))
    return _people._has_crossed(codes, is_real, [*codes])


def read_codes_of(values, dtype, as_numbers):
    found = _kinds._read_codes(pd.Series(values, dtype=dtype), as_numbers)
    return str(found.dtype), [None if pd.isna(one) else one for one in found]


def leave_out_shared(fewest):
    tables, people = read_people("p")
    tables["synthetic"] = pd.DataFrame({"a": [6, 7, 8]})
    with mock.patch.object(_evidence, "FEW_ROWS", fewest):
        tables, people = _people.leave_out_shared(tables, people)
    return (
        {name: table.a.tolist() for name, table in tables.items()},
        {name: one.tolist() for name, one in people.groups.items()},
        people.n_shared,
        people.n_left_out,
        people.n_left,
    )


def count_identifiers(real, made, held, words="codes"):
    tables = {
        "real": pd.DataFrame({"id": real}),
        "synthetic": pd.DataFrame({"id": made}),
        "holdout": pd.DataFrame({"id": held}),
    }
    return _audit._count_identifiers(tables, {"id": words})


def choose_evidence(n_rows=(100, 100), shift=None, leak=(False, True), share=0.1, reverse=None):
    results = pd.DataFrame({"leak": leak, "pvalue": 0.5})
    grounds = NS(n_rows=n_rows, shift=shift, results=results, smallest_share=share)
    before = _evidence.find_obstacle, _evidence.list_table_reversals
    _evidence.find_obstacle = lambda n_rows: None if n_rows else "too few"
    _evidence.list_table_reversals = lambda results: reverse
    try:
        return _evidence.choose_table_evidence(grounds)
    finally:
        _evidence.find_obstacle, _evidence.list_table_reversals = before


def leads(unchanged=1, evidence=_report.LEAK, leak=True):
    rows = [{"name": "other", "leak": not leak}, {"name": _report.FIRST, "leak": leak}]
    return _report._leads_with_counts(
        {"results": rows, "unchanged": unchanged, "evidence": evidence}
    )


UNITS = NS(many="rows", one="row")
first = pd.DataFrame({"a": [1.0, 2.0, 4.0]})
COUNTS = {"train": 1200, "n_train": 5000, "test": None, "n_test": None, "alone": 7}


def people(**given):
    settings = {"n_shared": 0, "columns": (), "repeated": (), "groups": None}
    return NS(**settings | given)


def check_people(units=None, **given):
    found = _audit._check_people(people(**given), units)
    return found["status"], found["text"][:31]


def check_values(changed=(), unfit=(), left_out=()):
    fit = _columns.ColumnsFit(changed=changed, unfit=unfit, left_out=left_out)
    return tuple(_audit._check_real_values(NS(fit=fit)).values())


def look_for_persons(found, columns=("id", "zip", "age"), target=None, secrets=None):
    """List the columns that are compared of tables whose persons are found by some."""
    table = pd.DataFrame(1, index=range(2), columns=list(columns))
    wanted = {"target": target, "secrets": secrets}
    with mock.patch.object(_audit, "find_repeated_persons", lambda *_: people(columns=found)):
        tables, _ = _audit._look_for_persons({"real": table, "holdout": table}, wanted, 0)
    assert [*tables["real"]] == [*tables["holdout"]]
    return [*tables["real"]]


def measure_privacy(matches=None, kept=None, holdout=True, left_out=("b",), secrets=None):
    """Return what an audit compares: columns of each table, and rows with a copied identifier."""
    tables = {name: pd.DataFrame({"a": [1, 2], "b": [3, 4]}) for name in ("synthetic", "real")}
    tables |= {"holdout": pd.DataFrame({"a": [5], "b": [6]})} if holdout else {}
    seen = []

    def measure(compared, settings, secrets, clock, groups, matches):
        seen.extend([[[*table] for table in compared], list(map(len, compared)), matches])
        return "results", "copies", "resemblance"

    columns = NS(fit=NS(left_out=left_out), matches=None if matches is None else array(matches))
    with (
        mock.patch.object(_audit, "measure_synthetic_table", measure),
        mock.patch.object(_audit, "measure_shift", lambda *given: [[*one] for one in given[:2]]),
        mock.patch.object(_audit, "make_checks", lambda tables, shift, *_: shift),
    ):
        clock = mock.MagicMock()
        given = tables, {"random_state": 0}, secrets, clock, columns, people(kept=kept), UNITS
        found, resemblance = _audit._measure_privacy(*given)
    results = found.pop("results")
    found["results"] = [*results] if isinstance(results, pd.DataFrame) else results
    return seen, found, resemblance


def list_doubts(rows, evidence="leak", shift=None):
    document = {
        "checks": [{"name": "other"}, {"name": "one population", "interval": shift}],
        "evidence": evidence,
        "results": [
            dict(zip(("name", "estimate", "low", "high"), row, strict=True)) for row in rows
        ],
    }
    return [list(row) for row in _report._list_table_doubts(document)]


def tell_call(command, holdout=True, **settings):
    document = {"settings": settings, "seeds": {"seed": 3, "none": None}}
    document["data"] = {"n_real": 5} | ({"n_holdout": 5} if holdout else {})
    return _report._tell_table_call(document, command)


def list_reversals(*pvalues):
    names = [*"abcd"[: len(pvalues)]]
    results = pd.DataFrame({"pvalue_below": pvalues}, index=names, dtype=float)
    return _evidence.list_table_reversals(results)


def choose_metric(column, held, guesses, truth):
    name, measure = _audit._choose_metric(pd.Series(column), pd.Series(held))
    return name, float(measure(array(truth), array(guesses)))


def draw_bootstrap(persons):
    rng = np.random.RandomState(0)
    found = _audit._draw_bootstrap(4, None if persons is None else array(persons), rng)
    counts = np.bincount(found, minlength=4)
    return counts.tolist(), sorted(found.tolist()) == found.tolist()


def list_notes(n_rows, **identifiers):
    tables = [np.zeros((n_rows, 1))]
    before, _audit._tell_sample = _audit._tell_sample, lambda tables: "sample"
    try:
        found = _audit._list_notes(NS(identifiers=identifiers), tables)
    finally:
        _audit._tell_sample = before
    return [one[:71] for one in found]


def describe_data(units, groups=None, holdout=True):
    tables = {"real": np.zeros((5, 2)), "synthetic": np.zeros((7, 2))}
    tables |= {"holdout": np.zeros((3, 2))} if holdout else {}
    people = NS(groups=groups, n_shared=4, n_left=None)
    columns = NS(identifiers={"id": "codes"})
    return _audit._describe_data(tables, columns, people, units)


PERSONS = _audit.PERSONS
DATA = {"n_real": 5, "n_synthetic": 7, "n_holdout": 3, "n_columns": 2, "identifiers": ["id"]}


def shift_large(*parts, dtype=None):
    frames = [pd.DataFrame({"a": pd.Series(part, dtype=dtype)}) for part in parts]
    found, _ = _kinds.unify_frames(frames, list("xyz"[: len(parts)]))
    return [frame["a"].tolist() for frame in found]


def fill(*columns):
    frames = [pd.DataFrame({"a": column, "b": ["x"] * len(column)}) for column in columns]
    return [frame.to_dict("list") for frame in _measure._fill(frames)]


def describe_use(**estimates):
    before = _report.list_worst, _report._describe_trained
    _report.list_worst = lambda columns: [
        {"name": name, "estimate": one} for name, one in estimates.items()
    ]
    _report._describe_trained = lambda document: ["trained"]
    try:
        return _report._describe_use({"columns": None})
    finally:
        _report.list_worst, _report._describe_trained = before


def write_slight(*ranks):
    found = [(k, ({"name": f"number {k}"}, NS(rank=rank))) for k, rank in enumerate(ranks)]
    before, _report.read_units = _report.read_units, lambda data: UNITS
    try:
        return (
            _report._write_slight_table({"data": None}, found).partition("**")[2].partition("**")[0]
        )
    finally:
        _report.read_units = before


def correlate_at(scale, weights=(1, 1, 1)):
    matrix = array([[scale, 1.0], [2 * scale, 0.0], [3 * scale, 0.5]])
    return _measure._correlate(matrix, array(weights, dtype=float))


def document_of(*names, level="clear", evidence="leak", recommendation=None, **numbers):
    """Write what a document says of some numbers, all alike but for what is given by name."""
    number = {"attack": 0.5, "control": 0.25, "naive": None, "leak": True}
    number |= {"estimate": 0.3, "low": 0.1, "high": 0.4} | numbers
    groups = [{"number": one, "name": level, "numbers": {"excess": number}} for one in names]
    return {
        "data": {"n_real": 50, "n_synthetic": 50, "n_holdout": 50},
        "evidence": evidence,
        "level": {"name": level, "groups": groups},
        "results": [{"name": one} | number for one in names],
        "copies": [{"name": name} | counts for name, counts in COPIED.items()],
        "recommendation": recommendation,
    }


COPIED = {
    "all copies": {"train": 1200.0, "n_train": 5000.0, "test": 3.0, "n_test": 2000.0},
    "rare copies": {"train": 7.0, "smallest_share_corrected": 0.02},
    "copies but one cell": {"train": 1500.0, "test": 11.0},
    "near copies": {"train": 1000.0, "n_train": 4000.0, "test": 1.0, "n_test": 400.0},
}
ALL = "1,200 of 5,000 training rows and 3 of 2,000 rows never seen. "
CHANGED = "Copies that differ in at most one cell: 1,500 rare ones, and 11 of rows never seen. "
SMALLEST = "Copies of 2% of the training rows would have been found with a probability of 80%."


def describe_risks(*names, **numbers):
    found = _report._describe_risks(document_of(*names, **numbers))
    return {one["heading"]: (one["what"], one.get("bars")) for one in found}


NOT_MEASURED = ("It could not be measured.", None)
BARS = [("training rows", 0.5, "50%"), ("rows never seen", 0.25, "25%"), ("guesses", None, "-")]


def describe_copies(*left_out, names=(), person=None, **numbers):
    document = document_of(*names, **numbers)
    document["copies"] = [one for one in document["copies"] if one["name"] not in left_out]
    document["data"] |= {} if person is None else {"n_persons_real": person}
    return _report._describe_copies(document)


def advise(*names, result=None, reason=None, evidence="leak", **numbers):
    found = result and {"result": result, "policy": {"name": "p"}, "reasons": [reason]}
    document = document_of(*names, evidence=evidence, recommendation=found, **numbers)
    found = found and found.update(limits=[])
    return [(step.imperative, step.why) for step in _report.advise_on_table(document)]


def write_sentence(*names, counts=None, unit=None, **given):
    document = document_of(*names, **given) | {"unchanged": counts, "verdict": "Head. And why."}
    document["data"] |= {} if unit is None else {"unit": unit}
    return _report.write_table_sentence(document)


def tell_verdict(
    evidence, units=_evidence.ROWS, unchanged=None, n_rows=(50, 50, 50), shared=0, **more
):
    """Write the verdict of five numbers, of which three are a leak."""
    results = pd.DataFrame(
        {
            "estimate": [0.5, 0.25, 0.1, 0.0, 0.3],
            "attack": [0.5, 0.25, nan, 0.1, 0.4],
            "control": [0.0, 0.125, nan, 0.1, 0.1],
            "pvalue_holm": [0.03, 0.02, 0.01, 1.0, 0.04],
            "pvalue_below": [1.0, 0.001, 1.0, 0.0005, 1.0],
            "leak": [True, True, True, False, False],
        },
        index=["rare copies", "linkability", "privacy loss", "inference of a", "near copies"],
    )
    results.loc[list(more.pop("leaks", ())), "leak"] = True
    rows = dict(zip(("real", "synthetic", "holdout"), n_rows, strict=True)) | {"shared": shared}
    settings = {"level": 0.95, "smallest_share": 0.0123, "shift": "They differ."} | more
    grounds = _evidence.TableGrounds(results, rows, unchanged=unchanged, units=units, **settings)
    return _evidence.write_table_verdict(grounds, evidence).partition(". ")[2]


UNSEEN = f"{_evidence.UNSEEN} Another attack may also succeed."
LEAKS = (
    "The synthetic table reveals more about its training rows than about held-out rows: privacy "
    "loss 0.100 (p = 0.01); linkability, right for 25% of the training and 12.5% of the held-out "
    "rows (p = 0.02); rare copies, 50% of the training and 0% of the held-out rows (p = 0.03)"
)


def tabulate_risks(*names, level=0.95, **given):
    document = document_of(*names, **given) | {"settings": {"confidence_level": level}}
    return [" ".join(line.split()) for line in _report._tabulate_risks(document)]


def describe_trained(trained=None, spread=None):
    return _report._describe_trained({"data": {}, "trained": trained, "spread": spread})


AGAIN = ("Audit the new table.", "Each draw of a generator can leak more or less.")


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _measure: [
        # The smallest p-value is at most a fifth of the level of each of the numbers.
        (lambda: _measure.count_table_permutations(11, 0.05), 1100),
        (lambda: _measure.count_table_permutations(11, 0.1), 999),
        (lambda: kind([1.0]), "numbers"),
        (lambda: kind([True]), "truth values"),
        (lambda: kind([1j]), "complex"),
        (lambda: kind(pd.to_datetime(["2020-01-01"])), "dates"),
        (lambda: kind(pd.to_timedelta([1], unit="D")), "durations"),
        (lambda: kind([1, 2], "category"), "categories of numbers"),
        (lambda: kind(["a"], "category") == kind(["a"]) == kind(["a"], object), True),
        (lambda: read([1.0, nan]), [1.0, nan]),
        (lambda: read([None, None]), [nan, nan]),
        (
            lambda: read(pd.to_datetime(["1970-01-02 12:00", None]), _kinds._DATES),
            [1.5, nan],
        ),
        (
            lambda: read(pd.to_datetime(["1970-01-02 02:00+02:00"]), _kinds._DATES),
            [1.0],
        ),
        (lambda: read(pd.to_timedelta([36], unit="h"), _kinds._DURATIONS), [1.5]),
        (lambda: round_to([0.1], [0.2], "float64", "float64"), [0.1, 0.2]),
        (
            lambda: round_to([0.1], [0.2], "float32", "float64"),
            [float(np.float32(0.1)), float(np.float32(0.2))],
        ),
        (
            lambda: round_to([0.1], [0.2], "float16", "float32"),
            [float(np.float16(0.1)), float(np.float16(np.float32(0.2)))],
        ),
        (
            lambda: round_to([0.1], [1e300], "float32", "float64"),
            [float(np.float32(0.1)), 1e300],
        ),
        (lambda: round_to([1], [2], "int64", "int64"), [1.0, 2.0]),
        (lambda: unify([True, None], [False, True]), [[True, None], [False, True]]),
        (lambda: unify([True], [0.5]), [[1.0], [0.5]]),
        (lambda: unify(["a"], ["b"]), [["a"], ["b"]]),
        (lambda: unify([None], [None]), [[nan], [nan]]),
        (
            lambda: tell_refusal(lambda: unify(["a", "2"], [1.0]))[-135:],
            "got text in real, numbers in synthetic; 1 of 2 texts are no numbers: 'a' (1). "
            "Convert it in one of them, or leave it out of all tables.",
        ),
        (lambda: tell_refusal(lambda: unify([1j], [1j]))[:12], "The column '"),
        (
            lambda: tell_refusal(lambda: unify([1.0], [np.inf])),
            "synthetic must hold finite numbers; column 'c' does not; let missing values take "
            "their place.",
        ),
        (
            lambda: correlate([[1.0, 2.0], [3.0, 1.0], [4.0, 9.0]], [1, 2, 4]),
            np.zeros((2, 2)),
        ),
        (
            lambda: correlate([[1.0, 2.0], [3.0, 1.0], [4.0, 9.0]], [1, 2, 4], 1e200).round(9),
            np.zeros((2, 2)),
        ),
        (lambda: _measure._correlate(array([[1.0, 5], [2, 5]]), np.ones(2))[0], [1.0, nan]),
        # Of one row on a side no model learns.
        (lambda: _measure.measure_shift(first, first[:1], 0), None),
        (lambda: bin_numbers([0, 1], [1, 1], False), ([0, 1], [1, 1])),
        (
            lambda: bin_numbers([0.0, 10.0, nan], [-5.0, 1.0, 0.99, 99.0]),
            ([0, 9, 10], [0, 1, 0, 9]),
        ),
        (lambda: bin_numbers([nan], [1.0, nan]), ([10], [0, 10])),
        (lambda: _measure.TableSimilarity._are_numbers(NS(_number=[1, 1, 0]), (0, 1)), 1),
        (lambda: _measure.TableSimilarity._are_numbers(NS(_number=[1, 1, 0]), (0, 2)), 0),
        (lambda: _measure.TableSimilarity._are_numbers(NS(_number=[0, 1, 0]), (0, 1)), 0),
        (lambda: check_columns(["b", "a"]), None),
        (lambda: check_columns(["a"]), "holdout lacks the column 'b' of real; re"),
        (lambda: check_columns(["a", "b", "c"]), "holdout has the column 'c', which real l"),
        (
            lambda: sorted(
                len(part)
                for part in _measure._halve(pd.DataFrame({"a": range(5)}), None, np.random)
            ),
            [2, 3],
        ),
        (
            lambda: [
                part.a.is_monotonic_increasing
                for part in _measure._halve(
                    pd.DataFrame({"a": range(50)}), None, np.random.RandomState(0)
                )
            ],
            [True, True],
        ),
        (
            lambda: sorted(
                part.a.tolist()
                for part in _measure._halve(
                    pd.DataFrame({"a": range(4)}), array([7, 5, 7, 5]), np.random.RandomState(0)
                )
            ),
            [[0, 2], [1, 3]],
        ),
    ],
    _columns: [
        (lambda: read_codes(["01", "23"], [5.0, nan]), (["05", nan], "codes of 2 digits")),
        (lambda: read_codes(["11", "23"], [5.0]), None),
        (lambda: read_codes(["01", "231"], [5.0]), None),
        (lambda: read_codes(["0a", "23"], [5.0]), None),
        (lambda: read_codes(["0", "2"], [5.0]), None),
        (lambda: read_codes(["01", "23"], [-1.0]), None),
        (lambda: read_codes(["01", "23"], [100.0]), None),
        (lambda: read_codes(["01", "23"], [99.0])[0], ["99"]),
        (lambda: read_codes(["01", "23"], [0.0])[0], ["00"]),
        (lambda: read_codes(["01", "23"], [0.5]), None),
        (lambda: read_codes(["01", "23"], pd.to_datetime(["2020-01-01"])), None),
        (
            lambda: convert(["1", "no"], [True, False]),
            (
                [True, False],
                "truth values are text in the training table; compared as truth values",
            ),
        ),
        (
            lambda: convert(["1.5", None], [2.0]),
            ([1.5, nan], "numbers are text in the training table; compared as numbers"),
        ),
        (lambda: convert(["1.5", "a"], [2.0]), None),
        (lambda: convert(["maybe"], [True]), None),
        (
            lambda: convert(["2020-01-02"], pd.to_datetime(["2020-01-03"]))[1],
            "dates are text in the training table; compared as dates",
        ),
        (lambda: convert(["a"], pd.to_timedelta([1])), None),
        # Dates of one form in each table, which all are dates and one form alone reads.
        (
            lambda: read_dates(["2020-01-02", None], ["03.01.2020"]),
            ([["2020-01-02", None], ["2020-01-03"]], "texts of dates are compared as dates"),
        ),
        (lambda: read_dates(["2020-01-02"], ["02/03/2020"]), None),
        (lambda: read_dates(["2020-01-02"], ["late"]), None),
        (lambda: read_dates(["2020-01-02"], [None, "2020-13-02"]), None),
        (lambda: recognize_text("%Y-%m-%d %H:%M"), "times of creation"),
        (lambda: recognize_text("%Y-%m-%d"), None),
        (lambda: as_text_column(["a", None, "a"]), (True, ["a", None, "a"])),
        (lambda: as_text_column([1, 2]), (False, [1, 2])),
        (lambda: as_text_column(["a", 2]), (False, ["a", 2])),
        (lambda: count_copied(["a", "b"], ["b", None]), {"real": [False, True]}),
        (lambda: count_copied(["a", "b"], ["b"], other="b"), None),
        (lambda: read_date("2020-03-01", None), ["2020-03-01", None]),
        (lambda: read_date("13/02/2020", "01/03/2020"), ["2020-02-13", "2020-03-01"]),
        (lambda: read_date("02/03/2020"), None),
        (lambda: read_date("03/03/2020"), ["2020-03-03"]),
        (lambda: read_date("2020-03-01", "01.03.2020"), None),
        (lambda: read_date(*["2020-03-01"] * 50, "x"), None),
        (lambda: spell(["a", "b"], ["a", "b"]), (True, True, "")),
        (lambda: spell(["a", "b"], ["c", "d"]), (True, True, "")),
        (lambda: spell(["a", "b"], ["A", "B"])[2] != "", True),
        (lambda: spell(["a", "b", "A"], ["A", "B"])[2], ""),
        (
            lambda: round_alike(TENTHS, WHOLE),
            (9.0, 9.0, "the real tables have more digits; compared at whole numbers"),
        ),
        (
            lambda: round_alike(TENS, TENTHS),
            (90.0, 10.0, "the synthetic table has more digits; compared at multiples of 10"),
        ),
        (
            lambda: round_alike(TENTHS, TENTHS / 10),
            (9.1, 0.9, "the synthetic table has more digits; compared at 1 decimals"),
        ),
        (lambda: round_alike(TENTHS, TENTHS + 1)[2], ""),
        (lambda: round_alike(TENTHS[:9], WHOLE)[2], ""),
        (lambda: round_alike(TENTHS, WHOLE[:9])[2], ""),
        (lambda: name_range([1.0, 2.0], [2.0, 9.0]), ""),
        (lambda: name_range([1.0, 2.0], [0.0, 1.0]), ""),
        (
            lambda: name_range([1.0, 2.0], [2.5, 9.0]),
            "the numbers of the synthetic table lie from 2.5 to 9 and the real ones from 1 to 2: "
            "another unit?",
        ),
        (lambda: name_range([1.0, 2.0], [0.0, 0.5])[:30], "the numbers of the synthetic t"),
        (lambda: name_range([1.0, 1.0], [5.0]), ""),
        (lambda: name_range([1.0, 2.0], [nan]), ""),
        (lambda: name_misfit([1.0, 2.0], [2.0, 9.0]), ("", False)),
        (
            lambda: name_misfit(["north"] * 8, ["Nord", "nort"]),
            (
                "none of the values of the synthetic table occurs in the real one, 'Nord' for "
                "'north'",
                True,
            ),
        ),
        (
            lambda: name_misfit(["north"] * 8, ["north", "xyz", "xyz"]),
            (
                "67% of the rows of the synthetic table have values that the real one lacks, such "
                "as 'xyz'",
                False,
            ),
        ),
        (lambda: name_misfit(["north"] * 8, ["north", "xyz"]), ("", False)),
        (lambda: name_misfit(["a", "b"] * 4, ["x"])[1], True),
        (lambda: name_misfit(["a", "b"] * 3 + ["a"], ["x"]), ("", False)),
        (lambda: name_misfit(["a"] * 17 + ["b", "c"], ["x"]), ("", False)),
        (lambda: name_misfit(["a"] * 18 + ["b", "c"], ["x"])[1], True),
        (lambda: name_misfit(["a"] * 8, ["x"], ["a"] * 9 + ["y"])[1], True),
        (lambda: name_misfit(["a"] * 8, ["x"], ["a"] * 8 + ["y"]), ("", False)),
        (lambda: name_misfit(["a"] * 8, [1.0]), ("", False)),
    ],
    _people: [
        (lambda: _people._share_repeated(array([0, 1, 1, 2])), 0.5),
        (lambda: _people._share_equal_pairs(array([0, 1, 1, 1])), 0.5),
        (lambda: _people._share_across(array([True, False, False, False])), 0.5),
        (
            lambda: _people._count_pairs(
                array([0, 0, 0, 1, 1, 1]), array([1, 1, 0, 1, 0, 0], dtype=bool)
            ),
            (2.0, 4.0),
        ),
        # Of three pairs within, and one across, of which 9 of 15 pairs of rows are.
        (
            lambda: _people._score_key(
                array([0, 0, 0, 1, 2, 1]), array([1, 1, 1, 0, 0, 0], dtype=bool)
            ),
            4 / 4**0.5,
        ),
        (
            lambda: _people._score_key(
                array([0, 0, 0, 0, 1, 2]), array([1, 1, 1, 0, 0, 0], dtype=bool)
            ),
            (3 - 3 * 0.4 / 0.6) / 6**0.5,
        ),
        (lambda: _people._score_key(array([0, 1]), array([True, False])), 0.0),
        # Two columns of both tables that have at least a fifth more values together than apart.
        (lambda: has_crossed(fourths, halves), True),
        (lambda: has_crossed(fourths, fourths // 2), False),
        (lambda: has_crossed(fourths, fourths // 2, halves), True),
        (lambda: has_crossed(fourths), False),
        (lambda: has_crossed(np.arange(40) % 5, np.arange(40) == 0), True),
        (lambda: has_crossed(np.arange(40) % 6, np.arange(40) == 0), False),
        # What is of other values in each table is a difference of these.
        (lambda: has_crossed(np.arange(40) // 20, fourths, is_real=halves == 0), False),
        (lambda: read_codes_of([1, 2], "category", True), ("int64", [1, 2])),
        (lambda: read_codes_of([1, None], "category", True), ("float64", [1.0, None])),
        (lambda: read_codes_of([1, 2], "category", False), ("category", [1, 2])),
        (lambda: read_codes_of([1, 2], "int64", False), ("category", [1, 2])),
        (lambda: read_codes_of([1, 2], "int64", True), ("int64", [1, 2])),
        # A column joins the first where both split the rows more clearly, until none is left.
        (lambda: grow_split(fourths, halves), ["a", "b"]),
        (lambda: grow_split(fourths, halves * 0, halves), ["a", "c"]),
        (lambda: grow_split(halves, fourths), ["a"]),
        (lambda: grow_split(halves), ["a"]),
        (
            lambda: _people._join_codes([array([0, 1, 0, 1]), array([0, 2, 2, 0])]),
            [0, 1, 2, 3],
        ),
        (
            lambda: _people._join_codes([array([0, 1, 0]), array([0, 2, 0]), array([1, 1, 1])]),
            [0, 1, 0],
        ),
        # Two columns that agree in the same two pairs, 1/3 of all; apart 1/9 would.
        (lambda: _people._lift([array([0, 0, 1, 1]), array([5, 5, 2, 2])]), 3.0),
        (lambda: _people._lift([array([0, 0, 1, 2]), array([5, 5, 2, 2])]), (1 / 6) / (1 / 6 / 3)),
        (lambda: _people._lift([array([0, 0, 1, 2, 3]), array([5, 5, 2, 2, 2])]), 0.0),
        (
            lambda: _people._drop_determined(
                codes(np.arange(60) % 3, np.arange(60) % 3 > 0, np.arange(60) // 30, np.zeros(60))
            ),
            ["0", "2"],
        ),
        (
            lambda: _people._drop_determined(codes(np.arange(57) % 3, np.arange(57) % 3 > 0)),
            ["0", "1"],
        ),
        (lambda: _people._drop_determined(codes(np.arange(9), np.arange(9) % 2)), ["1"]),
        (lambda: read_people(None)[1].groups, None),
        (
            lambda: {name: one.tolist() for name, one in read_people("p")[1].groups.items()},
            {"real": [0, 1, 0], "holdout": [2, 1]},
        ),
        (lambda: [*read_people("p")[0]["holdout"]], ["a"]),
        (lambda: read_people("p", False)[1].groups, {"real": [0, 1, 0]}),
        (
            lambda: read_people(([7, 8, 9], [9, 7]))[1].groups,
            {"real": [0, 1, 2], "holdout": [2, 0]},
        ),
        (lambda: [*read_people(([7, 8, 9], [9, 7]))[0]["real"]], ["a", "p"]),
        (
            lambda: tell_refusal(lambda: read_people("q"))[:37],
            "group_by='q' is not a column of real;",
        ),
        (
            lambda: tell_refusal(
                lambda: _people.read_people({"real": pd.DataFrame({"p": [1, 2]})}, "p")
            ),
            "group_by='p' must not be the only column.",
        ),
        (
            lambda: tell_refusal(lambda: read_people(([7, 8, 9],)))[:30],
            "group_by must be the name of a",
        ),
        (
            lambda: leave_out_shared(1),
            (
                {"real": [1, 3], "holdout": [4], "synthetic": [6, 7, 8]},
                {"real": [0, 0], "holdout": [2]},
                1,
                (1, 1),
                {"real": 1, "holdout": 1},
            ),
        ),
        # With too few others all training rows stay, and the holdout goes.
        (
            lambda: leave_out_shared(2),
            (
                {"real": [1, 2, 3], "synthetic": [6, 7, 8]},
                {"real": [0, 1, 0]},
                1,
                (1, 1),
                {"real": 1, "holdout": 1},
            ),
        ),
    ],
    _audit: [
        (
            lambda: check_values(),
            (
                "passed",
                "Values of the synthetic columns are of the kinds and ranges of real rows.",
            ),
        ),
        # A column of which nothing fits hides copies, but a shift is one of all columns.
        (
            lambda: measure_privacy(),
            (
                [[["a"], ["a"], ["a"]], [2, 1, 2], None],
                {"copies": "copies", "checks": [["a", "b"], ["a", "b"]], "results": "results"},
                "resemblance",
            ),
        ),
        (lambda: measure_privacy(secrets=["b"])[0][0], [["a", "b"]] * 3),
        (
            lambda: measure_privacy(holdout=False),
            ([], {"copies": None, "checks": None, "results": _measure.COLUMNS}, None),
        ),
        (lambda: measure_privacy([True, False, True])[0][2], [True, False, True]),
        (lambda: measure_privacy(None, {"real": array([True, False])})[0][2], None),
        # Of persons who are in both tables, no identifier counts.
        (
            lambda: measure_privacy(
                [True, False, True, False],
                {"real": array([False, True]), "holdout": array([True, False])},
            )[0][2],
            [False, True],
        ),
        (lambda: check_values(changed=["a: x", "b: y"]), ("passed", "A: x; b: y.")),
        (lambda: check_values(unfit=["a: x"]), ("warning", "A: x.")),
        (
            lambda: check_values(["b: y"], ["a: x"], ["a"]),
            (
                "warning",
                "A: x. A column without a common value is compared by similarity alone. B: y.",
            ),
        ),
        # Names of persons are left out, unless they are asked for or there is nothing else.
        (lambda: look_for_persons(["id", "zip"]), ["zip", "age"]),
        (lambda: look_for_persons(["id", "zip"], target="id"), ["id", "zip", "age"]),
        (lambda: look_for_persons(["id", "zip"], secrets=["id"]), ["id", "zip", "age"]),
        (lambda: look_for_persons(["id"], columns=["id"]), ["id"]),
        (
            lambda: _audit._divide_gain(1.0, 0.0, None, 0.9),
            dict.fromkeys(("estimate", "low", "high"), nan),
        ),
        (
            lambda: _audit._divide_gain(1.0, 4.0, array([[1.0, 4.0], [3.0, 4.0], [2.0, 8.0]]), 0.9),
            {
                "estimate": 0.25,
                "low": 0.25 - norm.ppf(0.95) * (4 / 3) ** 0.5 / 4,
                "high": 0.25 + norm.ppf(0.95) * (4 / 3) ** 0.5 / 4,
            },
        ),
        (
            lambda: _audit._keep_rows(
                {
                    "real": pd.DataFrame({"a": [1, 2], "b": [3, 4]}),
                    "synthetic": pd.DataFrame({"b": [7, 8], "a": [5, 6]}),
                },
                NS(kept={"real": array([False, True])}),
                {"real": pd.DataFrame({"b": [4]}), "synthetic": None},
            ),
            {"real": {"b": [4]}, "synthetic": {"b": [7, 8]}},
        ),
        (
            lambda: _audit._keep_rows(
                {"real": pd.DataFrame({"a": [1]}), "holdout": pd.DataFrame({"a": [2]})},
                NS(kept=None),
                {"real": pd.DataFrame({"a": [1]})},
            ),
            {"real": {"a": [1]}},
        ),
        (lambda: _audit._join_names("abcd"), "'a', 'b', 'c', 'd'"),
        (lambda: _audit._join_names("abcde"), "'a', 'b', 'c', 'd' and 1 more column"),
        (lambda: _audit._join_names("abcdef")[-19:], " and 2 more columns"),
        (lambda: count_identifiers(["a", "b"], ["a"], ["c"], "numbers"), (None, [])),
        (lambda: count_identifiers(["a", "b"], ["x"], ["c"]), (None, [])),
        (
            lambda: _audit._leave_out(
                {"real": np.zeros((2, 3))}, NS(fit=NS(left_out=["a", "b"])), ["b"]
            ),
            ["a"],
        ),
        (
            lambda: _audit._leave_out(
                {"real": np.zeros((2, 2))}, NS(fit=NS(left_out=["a", "b"])), None
            ),
            [],
        ),
        (lambda: _audit._check_target_names(["a", "b"], "a", ["b"]), None),
        (
            lambda: tell_refusal(lambda: _audit._check_target_names(["a", "b"], "c", None)),
            "target: 'c' is not a column of the tables; available columns: 'a', 'b'.",
        ),
        (
            lambda: tell_refusal(lambda: _audit._check_target_names(["a"], None, ["a", "c"]))[:14],
            "secrets: 'c' i",
        ),
        (
            lambda: tell_refusal(lambda: _audit._check_target_names(["a"], None, "a")),
            "secrets must be a sequence of columns; got 'a'.",
        ),
        (
            lambda: check_people(n_shared=1200, n_left_out=(3, 4)),
            ("warning", "1,200 persons have rows in both"),
        ),
        (lambda: check_people(columns=["a"]), ("warning", "Rows that agree in 'a' are in o")),
        (
            lambda: check_people(repeated=["a"], share_repeated=0.25),
            ("warning", "25% of the real rows agree with"),
        ),
        (
            lambda: check_people(_audit.PERSONS),
            ("passed", "Each compared row is a person, "),
        ),
        (lambda: check_people(), ("passed", "No combination of values repeat")),
        (
            lambda: check_people(_audit.PERSONS, groups=1),
            ("passed", "All rows of a person are in one"),
        ),
    ],
    _evidence: [
        (lambda: choose_evidence(), _evidence.LEAK),
        (lambda: choose_evidence(None), _evidence.UNKNOWN),
        (lambda: choose_evidence(shift=0.5), _evidence.SHIFT),
        (lambda: choose_evidence(leak=(False, False), reverse=[1]), _evidence.REVERSED),
        (lambda: choose_evidence(leak=(False, False)), _evidence.NONE),
        (lambda: choose_evidence(leak=(False, False), share=np.inf), _evidence.UNKNOWN),
        (
            lambda: _evidence.tell_unchanged(COUNTS | {"test": 3, "n_test": 2000}, UNITS),
            "1,200 of 5,000 training rows are in the synthetic table unchanged; of rows never "
            "seen, 3 of 2,000 are.",
        ),
        (
            lambda: _evidence.tell_unchanged(COUNTS, UNITS),
            "1,200 of 5,000 training rows are in the synthetic table unchanged, 7 of them with "
            "values that no other training row has. Only a holdout shows how many would be there "
            "by chance.",
        ),
        (
            lambda: _evidence.tell_unchanged(COUNTS | {"train": 1, "test": 1, "n_test": 9}, UNITS),
            "1 of 5,000 training rows is in the synthetic table unchanged; of rows never seen, 1 "
            "of 9 is.",
        ),
        (
            lambda: _evidence.tell_unchanged(COUNTS | {"train": 0}, UNITS),
            "0 of 5,000 training rows are in the synthetic table unchanged.",
        ),
    ],
    _report: [
        (leads, True),
        (lambda: leads(unchanged=None), False),
        (lambda: leads(evidence="none"), False),
        (lambda: leads(leak=False), False),
        (
            lambda: [*_report._format_markdown_table([["a|b", "c"], ["1", "2"], ["3", "4"]])],
            [*_report.format_rows_of_table(["a\\|b", "c"], [["1", "2"], ["3", "4"]])],
        ),
        (lambda: _report._tell_unchanged_rows({}), []),
        (
            lambda: [
                row["name"]
                for row, _ in _report._find_table_numbers(
                    {
                        "level": {
                            "groups": [
                                {"number": name, "name": level, "numbers": {"excess": {"low": low}}}
                                for name, level, low in (
                                    ("a 1", "slight", 0.3),
                                    ("a 2", "slight", 0.4),
                                    ("a 3", "severe", 0.1),
                                    ("b", "clear", 0.9),
                                )
                            ]
                        },
                        "results": [{"name": one} for one in ("a 1", "a 2", "a 3", "a 4", "b")],
                    },
                    "a",
                )
            ],
            ["a 3", "a 2", "a 1"],
        ),
    ],
    _report._describe_risks: [
        (
            lambda: describe_risks(),
            dict.fromkeys(("Singling out", "Linkability", "Inference"), NOT_MEASURED),
        ),
        (
            lambda: describe_risks("inference of age", "singling out"),
            {
                "Singling out": ("Values of a synthetic row identify one real row.", BARS),
                "Linkability": NOT_MEASURED,
                "Inference": ("A missing value is inferred; worst column: age.", BARS),
            },
        ),
        (
            lambda: describe_risks("singling out, one column", "linkability", naive=0.125),
            {
                "Singling out": (
                    "A single value of a synthetic row identifies one real row.",
                    [*BARS[:2], ("guesses", 0.125, "12%")],
                ),
                "Linkability": (
                    "Two halves of a real row are linked.",
                    [*BARS[:2], ("guesses", 0.125, "12%")],
                ),
                "Inference": NOT_MEASURED,
            },
        ),
        (
            lambda: describe_risks("singling out, rare texts")["Singling out"][0],
            "A text that only one real row has is in the table.",
        ),
    ],
    _report._describe_copies: [
        (
            lambda: describe_copies(),
            {
                "sides": [
                    {
                        "number": "25",
                        "base": 100,
                        "filled": 25,
                        "text": "training rows have a near copy",
                        "level": None,
                    },
                    {
                        "number": "< 1",
                        "base": 100,
                        "filled": 0,
                        "text": "rows never seen have one",
                        "level": None,
                    },
                ],
                "exact": f"{ALL}7 of the copies are rare. {CHANGED}{SMALLEST}",
                "nearness": None,
            },
        ),
        (
            lambda: [one["level"] for one in describe_copies(names=["near copies"])["sides"]],
            ["clear", None],
        ),
        (
            lambda: describe_copies("all copies")["exact"],
            f"7 of the copies are rare. {CHANGED}{SMALLEST}",
        ),
        (
            lambda: describe_copies("copies but one cell")["exact"],
            f"{ALL}7 of the copies are rare. {SMALLEST}",
        ),
        (
            lambda: describe_copies(person=9)["exact"].partition(".")[0],
            "1,200 of 5,000 training persons and 3 of 2,000 persons never seen",
        ),
        (
            lambda: describe_copies(names=["privacy loss"], low=0.126)["nearness"],
            "How much nearer synthetic rows are to training rows than to rows never seen: 30 of 50 "
            "points (13 to 40). A table of copies has 50, and a table that is equally far from "
            "both has 0 (privacy loss).",
        ),
        (lambda: describe_copies(names=["privacy loss"], estimate=None)["nearness"], None),
    ],
    _report.write_table_sentence: [
        (
            lambda: write_sentence("inference of a", "linkability"),
            "The table reveals rows that it was generated from: a missing value can be "
            "**inferred** from it and two parts of a row can be **linked** with it.",
        ),
        (
            lambda: write_sentence("near copies", attack=0.123, unit="person"),
            "The table reveals persons that it was generated from: 12 of 100 training persons have "
            "a **near copy** in it.",
        ),
        (
            lambda: write_sentence("near copies", attack=None),
            "The table reveals rows that it was generated from: 0 of 100 training rows have a "
            "**near copy** in it.",
        ),
        # What leads with counts does not tell of copies again.
        (
            lambda: write_sentence(
                "rare copies",
                "near copies",
                "linkability",
                counts=COUNTS | {"test": 3, "n_test": 9},
            ),
            "**1,200 of 5,000** training rows are in the synthetic table **unchanged**, 7 of them "
            "with values that no other row has; of rows never seen, 3 of 9 are. Two parts of a row "
            "can be **linked** with it.",
        ),
        (
            lambda: write_sentence(
                "rare copies", counts=COUNTS | {"test": 0, "n_test": 2000, "alone": 0}
            ),
            "**1,200 of 5,000** training rows are in the synthetic table **unchanged**; of rows "
            "never seen, 0 of 2,000 are.",
        ),
        (
            lambda: write_sentence(
                "rare copies", counts=COUNTS | {"train": 1, "test": 1, "n_test": 9, "alone": 0}
            ),
            "**1 of 5,000** training rows is in the synthetic table **unchanged**; of rows never "
            "seen, 1 of 9 is.",
        ),
        (
            lambda: write_sentence("linkability", level="slight")[-100:],
            "most by **linkability**. This is more than chance, but too little to identify anyone "
            "with certainty.",
        ),
        (
            lambda: write_sentence("a", "b", level="none", evidence="none"),
            "None of 2 numbers is significantly higher on training rows than on **rows never "
            f"seen**. {SMALLEST} A stronger attack may still succeed.",
        ),
        (
            lambda: write_sentence(level="unknown", evidence="unknown"),
            "**A leak could not have been detected.** And why.",
        ),
        (
            lambda: write_sentence(level="unknown", evidence="reversed", unit="person")[:67],
            "**The table is nearer to persons never seen than to its training pe",
        ),
        (
            lambda: write_sentence(level="unknown", evidence="shift")[:56],
            "**Training rows and rows never seen differ even without ",
        ),
        (
            lambda: tabulate_risks("linkability", "inference of a", "membership by x", level=0.9),
            [
                "because of training never by",
                "of 100 attacks the table rows seen guessing level",
                "linkability 30 [10, 40] 50 25 - clear",
                "inference of a 30 [10, 40] 50 25 - clear",
                "membership by x 30 [10, 40] 50 25 - clear",
                "Brackets: 90% intervals. All numbers: --verbose, or summary(verbose=True).",
            ],
        ),
        # Copies that no sentence counts come first, and only if they are beyond chance.
        (
            lambda: tabulate_risks("copies but one cell", "near copies", attack=None)[2:4],
            [
                "copies but one cell 30 [10, 40] - 25 - clear",
                "near copies 30 [10, 40] - 25 - clear",
            ],
        ),
        (
            lambda: tabulate_risks("copies but one cell", "near copies", level=0.95)[2][:19],
            "copies but one cell",
        ),
        (lambda: describe_trained(), []),
        (
            lambda: describe_trained(
                {"target": "t", "metric": "AUC", "synthetic": 0.75, "real": 0.875, "chance": 0.5},
                [{"name": "q", "n_tables": 5, "mean": 0.5, "smallest": 0.25, "largest": None}],
            ),
            [
                "A model of t that was fitted on synthetic rows reaches an AUC of 0.750 on "
                "held-out rows, and a model that was fitted on training rows 0.875 (chance: "
                "0.500).",
                "5 further tables of the generator: q 0.500 on average, from 0.250 to -.",
            ],
        ),
        (
            lambda: _report.tabulate_utility(
                {
                    "data": {"unit": "person"},
                    "utility": [
                        {"name": "q", "estimate": 0.5, "low": 0.25, "high": 0.75, "real": 0.875},
                        {"name": "r", "estimate": 0.5, "low": None, "high": None, "real": None},
                    ],
                }
            ),
            [
                ["utility", "synthetic persons", "training persons"],
                ["q", "0.500 [0.250, 0.750]", "0.875"],
                ["r", "0.500", "-"],
            ],
        ),
        (
            lambda: [
                (one["name"], one["small"], one["number"])
                for one in _report._rank_table_rows(
                    document_of("membership by DOMIAS", "membership by x"), "membership by "
                )
            ],
            [
                ("DOMIAS", "synthetic rows are denser around training rows", "30%"),
                ("x", "", "30%"),
            ],
        ),
    ],
    _evidence.write_table_verdict: [
        (
            lambda: tell_verdict("leak"),
            f"{LEAKS}. The p-values are corrected for all 5 numbers.",
        ),
        (
            lambda: tell_verdict("leak", leaks=["near copies"]),
            f"{LEAKS}, and 1 more. The p-values are corrected for all 5 numbers.",
        ),
        (
            lambda: tell_verdict("leak", unchanged=COUNTS)[:73],
            "1,200 of 5,000 training rows are in the synthetic table unchanged, 7 of t",
        ),
        (
            lambda: tell_verdict("none"),
            "None of 5 numbers is significant at the 5% level after correction for all of them. "
            "Exact copies of 1.2% of the training rows would have been found with a probability of "
            f"80%. {UNSEEN}",
        ),
        (
            lambda: tell_verdict("none", _evidence.PERSONS, shared=1200)[-75:],
            "succeed. 1,200 persons have rows in both real tables and were not compared.",
        ),
        (
            lambda: tell_verdict("shift"),
            "They come from different populations: They differ. What the attacks find may be that "
            "difference. Use rows of one population, assigned at random to training and holdout.",
        ),
        (
            lambda: tell_verdict("reversed", _evidence.PERSONS),
            "The synthetic rows are significantly nearer to the holdout than to the training "
            "persons (linkability and inference of a). Were the two tables swapped?",
        ),
        (
            lambda: tell_verdict("unknown", n_rows=(19, 50, 50)),
            "A table has 19 rows or persons, and at least 20 are needed.",
        ),
        (
            lambda: tell_verdict("unknown", n_rows=(50, 12, 50), shared=1200),
            "1,200 persons have rows in both real tables. Without them, a table has 12 persons, "
            "and at least 20 are needed. Assign all rows of a person to one table before the "
            "generator is trained.",
        ),
        (
            lambda: tell_verdict("unknown", n_rows=(50, 50, 0))[:41],
            "There is no holdout: rows of the same pop",
        ),
        (
            lambda: tell_verdict("unknown", _evidence.PERSONS)[:75],
            "Even a table of copies of all training persons would not have been found: t",
        ),
        (lambda: _evidence.format_share(np.inf), "no share"),
        (lambda: _evidence.format_share(0.0123), "1.2%"),
    ],
    _report.advise_on_table: [
        (
            lambda: advise("near copies"),
            [
                (
                    "Do not publish the table.",
                    "1,000 of 4,000 training rows have a near copy in it.",
                ),
                _report._CHANGE[:2],
                AGAIN,
            ],
        ),
        (
            lambda: advise("near copies", level="slight")[0],
            (
                "Do not treat the table as anonymous.",
                "1,000 of 4,000 training rows have a near copy in it.",
            ),
        ),
        # Of near copies that are not beyond chance, nothing is said.
        (
            lambda: advise("near copies", level="none")[0],
            (
                "Do not publish the table.",
                "For the people in the training data, it is personal data.",
            ),
        ),
        (
            lambda: advise(result="do not release"),
            [
                ("Do not publish the table.", "By the policy p: do not release."),
                _report._CHANGE[:2],
                AGAIN,
            ],
        ),
        (
            lambda: advise(result="cannot be said", reason="It is so. Ask again."),
            [
                (
                    "Do not publish the table yet.",
                    "By the policy p: cannot be said. Ask again.",
                ),
                _report._CHANGE[:2],
                AGAIN,
            ],
        ),
        (
            lambda: advise(result="release", reason="It is so. Ask again.", evidence="none")[:2],
            [
                ("The table may be published.", "By the policy p: release."),
                _report._STEPS["none"][0][:2],
            ],
        ),
        # Without a verdict, the steps say what is to be done.
        (
            lambda: advise(result="cannot be said", reason="It is so.", evidence="shift")[0][1],
            "By the policy p: cannot be said.",
        ),
    ],
    _report._list_table_doubts: [
        (lambda: list_doubts([]), [["nothing was measured", None, 0.0, 1.0]]),
        (lambda: list_doubts([], shift=[0.5, 0.4, 0.6]), [["without the table", 0.5, 0.4, 0.6]]),
        (
            lambda: list_doubts(
                [
                    ("membership by a", 0.2, 0.1, 0.4),
                    ("membership by b", 0.4, 0.2, 0.6),
                    ("membership by c", 0.9, None, 1.0),
                    ("other", 0.8, 0.7, 0.9),
                ],
                shift=[0.5, 0.4, 0.6],
            ),
            [["without the table", 0.5, 0.4, 0.6], ["best attack on the table", 0.7, 0.6, 0.8]],
        ),
        (
            lambda: list_doubts(
                [("membership by a", -0.4, -0.6, -0.2), ("membership by b", 0.4, 0.2, 0.6)],
                _evidence.REVERSED,
                [0.5, 0.4, 0.6],
            ),
            [["worst attack on the table", 0.3, 0.2, 0.4], ["without the table", 0.5, 0.4, 0.6]],
        ),
        (lambda: tell_call({"repeat": "again"}), "again"),
        (
            lambda: tell_call({}, level=0.9),
            "audit_table(real, synthetic, holdout, level=0.9, seed=3)",
        ),
        (lambda: tell_call({}, False), "audit_table(real, synthetic, seed=3)"),
        (lambda: describe_use(), ["trained"]),
        (
            lambda: describe_use(a=0.124, b=0.5, c=1.0, d=1.0),
            ["Least alike: a (12), b (50), c (100).", "trained"],
        ),
        # As among all numbers, where this is 0.95.
        (lambda: describe_use(a=0.955)[0], "Least alike: a (95)."),
        (lambda: write_slight(-1, 0, 2), "number 1"),
        (lambda: write_slight(-1), _report.LOSS),
    ],
    _evidence.list_table_reversals: [
        (lambda: list_reversals(), []),
        (lambda: list_reversals(_evidence.REVERSAL_LEVEL), ["a"]),
        (lambda: list_reversals(_evidence.REVERSAL_LEVEL * 1.01), []),
        (lambda: list_reversals(_evidence.REVERSAL_LEVEL / 2, nan, 1.0), ["a"]),
        (lambda: list_reversals(_evidence.REVERSAL_LEVEL / 1.9, nan, 1.0), []),
    ],
    _audit._describe_data: [
        (
            lambda: choose_metric(range(_audit._MOST_CLASSES + 1), [1], [1.0, 2.0], [1.0, 4.0]),
            ("R2", 1 - 2 / 2.25),
        ),
        (
            lambda: choose_metric(range(_audit._MOST_CLASSES), [*range(20)], [1, 2], [1, 4]),
            ("accuracy", 0.5),
        ),
        (
            lambda: choose_metric(["a"] * 30, ["a", "b"], [0.1, 0.9, 0.5], ["a", "b", "a"]),
            ("AUC", 1.0),
        ),
        (lambda: choose_metric(["a"], ["a", "b"], [0.1, 0.9], ["b", "a"]), ("AUC", 0.0)),
        (lambda: choose_metric(["a"], ["a", "b"], [0.1, 0.9], ["a", "a"]), ("AUC", nan)),
        (lambda: choose_metric(["a"], ["a", "b", "c"], ["a", "c"], ["a", "b"]), ("accuracy", 0.5)),
        (lambda: sum(draw_bootstrap(None)[0]), 4),
        # Two people with two rows each, both of whom are drawn with this seed; and one alone.
        (lambda: draw_bootstrap([7, 5, 7, 5])[0], [1, 1, 1, 1]),
        (lambda: draw_bootstrap([7, 7, 7, 7]), ([1, 1, 1, 1], True)),
        (lambda: list_notes(_audit.MOST_COMPARED), []),
        (lambda: list_notes(_audit.MOST_COMPARED + 1), ["sample"]),
        (
            lambda: list_notes(3, a="codes"),
            ["Columns of identifiers are left out of all comparisons: 'a' (codes). id"],
        ),
        (lambda: len(list_notes(_audit.MOST_COMPARED + 1, a="codes")), 2),
        (lambda: describe_data(UNITS), DATA | {"unit": "row"}),
        (
            lambda: describe_data(UNITS, {"real": array([0, 0, 1]), "holdout": array([2])}),
            DATA
            | {"unit": "row", "n_persons_real": 2, "n_persons_holdout": 1, "n_persons_shared": 4},
        ),
        (
            lambda: describe_data(PERSONS),
            DATA
            | {
                "unit": PERSONS.one,
                "n_persons_real": 5,
                "n_persons_holdout": 3,
                "n_persons_shared": 0,
            },
        ),
        (lambda: _audit._draw_seed(7), 7),
        (
            lambda: _audit._draw_seed(np.random.RandomState(7)),
            int(np.random.RandomState(7).randint(2**31 - 1)),
        ),
    ],
    _measure._correlate: [
        (lambda: correlate_at(1.0), [[1.0, -0.5], [-0.5, 1.0]]),
        (lambda: correlate_at(1e200), [[1.0, -0.5], [-0.5, 1.0]]),
        (lambda: correlate_at(1e-200), [[1.0, -0.5], [-0.5, 1.0]]),
        (lambda: correlate_at(0.0), [[nan, nan], [nan, 1.0]]),
        (lambda: correlate_at(1.0, [1, 1, 0])[0][1], -1.0),
    ],
    _risks.LinkabilityRisk.summary: [
        (
            lambda: tell_refusal(_risks.LinkabilityRisk().summary)[:41],
            "This LinkabilityRisk instance is not fitted"[:41],
        ),
    ],
    _measure._fill: [
        (lambda: shift_large([1, 2], [3]), [[1, 2], [3]]),
        (lambda: shift_large([2**53], [0]), [[2**53], [0]]),
        (lambda: shift_large([2**53 + 1], [5]), [[2**53 - 4], [0]]),
        (lambda: shift_large([-(2**53) - 1], [5]), [[0], [2**53 + 6]]),
        (lambda: shift_large([2**53 + 2.0], [5.0]), [[2**53 + 2.0], [5.0]]),
        (
            lambda: fill([1.0, nan], [2.0, 4.0, 9.0]),
            [
                {"a": [1.0, 4.0], "b": ["x", "x"], "a is missing": ["False", "True"]},
                {"a": [2.0, 4.0, 9.0], "b": ["x"] * 3, "a is missing": ["False"] * 3},
            ],
        ),
        (lambda: fill([1.0], [2.0]), [{"a": [1.0], "b": ["x"]}, {"a": [2.0], "b": ["x"]}]),
        (lambda: fill([1.0], [nan])[1]["a"], [0.0]),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_a_report_hands_its_document_on(monkeypatch):
    # Each method, with what it calls by the name and the arguments that it gave.
    names = (
        "as_table_document",
        "format_table_summary",
        "format_table_markdown",
        "render_table",
        "save_table",
        "write_json",
        "write_text",
        "warn_of_failures",
        "frame_page",
    )
    for name in names:
        monkeypatch.setattr(_audit, name, lambda *given, name=name: (name, *given))
    monkeypatch.setattr(_audit, "format_short_table", lambda document: ["short"])
    monkeypatch.setattr(_audit, "format_table_summary", lambda document: "long")
    made = dict.fromkeys(_audit.TableReport.__dataclass_fields__)
    results = pd.DataFrame({"a": [1.0]})
    report = _audit.TableReport(**{**made, "results": results, "data": {"n_synthetic": 7}})
    document = ("as_table_document", report)
    assert report.to_json("a") == ("write_json", document, "a")
    page = ("render_table", document, "title")
    assert report.to_html("a", title="title") == ("write_text", page, "a")
    assert report.to_html() == ("write_text", ("render_table", document, None), None)
    assert report.to_markdown("title") == ("format_table_markdown", document, "title")
    assert report.to_markdown() == ("format_table_markdown", document, _audit.TITLE)
    assert report.save("a") == ("warn_of_failures", ("save_table", document, "a"))
    assert report._repr_html_() == ("frame_page", report, _audit.TITLE)
    assert report.summary() == "short"
    assert report.summary(True) == "short\n\nlong"
    copy = report.to_frame()
    copy.loc[0, "a"] = 2.0
    assert report.results["a"].tolist() == [1.0]
