"""Tables as a model takes them, and commands on tables, with answers by hand."""

from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace as NS
from unittest import mock

import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan

from skmia.cli import _model_input, _table
from skmia.cli._model_input import NUMBER, TEXT
from skmia.victims import KnownColumn


def refuse(call):
    """Return what a call returns, or the words in which it is refused."""
    told = tell_refusal(call)
    return call() if told is None else told


# -- the columns that a model takes


def choose(names=None, *, columns=("a", "b"), features=("a", "b"), own=None, n=None, texts=False):
    """Choose columns by the names of a model, or by their number."""
    parts = {
        "match_features": lambda model, columns: names,
        "list_feature_names": lambda model: own or names,
        "count_features": lambda model: n,
        "takes_texts": lambda model: texts,
    }
    table = pd.DataFrame(columns=[*columns])
    with mock.patch.multiple(_model_input, **parts):
        return refuse(lambda: _model_input._choose_features("m", table, [*features], "--data"))


def cast(values, *, known=None, kind=None, categories=None, is_listed=True):
    dtype = None
    if categories is not None:
        dtype = pd.CategoricalDtype(categories if is_listed else None)
        known = categories
    column = KnownColumn(
        values=None if known is None else array(known, dtype=object), kind=kind, dtype=dtype
    )
    found = refuse(lambda: _model_input._cast_column(pd.Series(values, name="c"), column))
    return found[:40] if isinstance(found, str) else (str(found.dtype), found.tolist())


def note_unknown(*, n=10, n_missing=0, share=0.5, n_unknown=5, n_distinct=1, is_text=False):
    one = NS(column="c", part="Encoder", unknown=["x", "y", "z"], known=["a", "b", "c", "d"])
    one.n_missing, one.share, one.n_unknown, one.n_distinct = (
        n_missing,
        share,
        n_unknown,
        n_distinct,
    )
    one.is_text, one.is_missing = is_text, False
    with mock.patch.object(_model_input, "_suggest_cure", lambda unknown: "Cure it"):
        return refuse(lambda: _model_input._note_unknown_values(one, n))


def suggest_cure(unknown, *known, is_text=False):
    one = NS(column="c", unknown=[unknown, "zz"], known=[*known], is_text=is_text)
    return _model_input._suggest_cure(one)[:24]


LETTERED = pd.DataFrame({"a": [1.0, 2, 3], "b": [4, 5, 6]})
NULLABLE = pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")})


def nameless(X, *, texts=False, kinds=(NUMBER, NUMBER), values=None):
    known = {name: KnownColumn(kind, values) for name, kind in zip(X, kinds)}
    with mock.patch.object(_model_input, "takes_texts", lambda model: texts):
        found, notes = _model_input._as_nameless(None, X, known)
    return found.dtype.kind, found.tolist(), notes


def check_answers(bad=(), X=None, known=None):
    """Return the refusal of a table of a model that cannot take some rows."""
    X = pd.DataFrame({"a": [1.0, nan, inf, 4.0], "b": ["x", "y", "x", None]}) if X is None else X
    known = {name: NS(values=None, kind=None, dtype=None) for name in X} | (known or {})
    asked = []

    def answer(model, rows):
        asked.append(rows.tolist())
        return not set(rows.tolist()) & set(bad)

    parts = {
        "_can_answer": answer,
        "take_rows": lambda given, rows: rows,
        "_refuse_unknown_texts": lambda X, known, option: asked.append(option),
        "_suggest_values": lambda known, refused: f"cure {len(refused)}",
    }
    with mock.patch.multiple(_model_input, **parts):
        told = tell_refusal(lambda: _model_input._check_answers("m", None, X, known, "--data"))
    return told, asked


def list_causes(known=None, **columns):
    X = pd.DataFrame(columns)
    known = {name: NS(values=None if known is None else array(known, dtype=object)) for name in X}
    return [
        (name, what, rows.astype(int).tolist())
        for name, what, rows in _model_input._list_causes(X, known)
    ]


Choice = namedtuple("Choice", "places chosen selector")


def match_selectors(selector, chosen, columns, places=(0, 1)):
    X = pd.DataFrame(columns)
    choice = Choice(places, chosen, selector)
    with mock.patch.object(_model_input, "list_column_choices", lambda model: [choice]):
        found = refuse(lambda: _model_input._match_selectors(None, X.copy()))
    return found if isinstance(found, str) else [str(one) for one in found.dtypes]


def select_numbers(X):
    return [name for name in X if X[name].dtype.kind == "f"]


def note_open(dtypes, column=("x", "y")):
    known = {
        name: KnownColumn(dtype=None if kind is None else pd.CategoricalDtype([*kind] or None))
        for name, kind in dtypes.items()
    }
    table = pd.DataFrame({name: [*column] for name in dtypes})
    return table, known


def open_categories(dtypes, as_category=()):
    table, known = note_open(dtypes)
    for name in as_category:
        table[name] = table[name].astype("category")
    return [one[:43] for one in _model_input._note_open_categories(table, known)]


def suggest_columns(absent, columns):
    return _model_input._suggest_columns(absent, columns)


def know(names, features=None, matched=None):
    parts = {
        "list_feature_names": lambda model: names,
        "list_known_columns": lambda model, features: {"a": 1},
        "match_features": lambda model, features: matched,
        "KnownColumn": lambda: 0,
    }
    with mock.patch.multiple(_model_input, **parts):
        return _model_input._know("m", features)


def choose_form(answered, X=LETTERED, given=None):
    """Return whether the table is given, where these kinds of rows are answered."""
    given = X.to_numpy() if given is None else given
    asked = []

    def can_answer(model, rows):
        asked.append((type(rows).__name__, len(rows)))
        return type(rows).__name__ in answered

    with mock.patch.multiple(_model_input, _can_answer=can_answer, _FEW_ASKED=2):
        found, notes = _model_input._choose_form("m", X, given, ["n"])
    return found is X, notes[1:], asked


def choose_precision(answered, given):
    """Return the types of what is given, where rows of this type are answered."""
    asked = []

    def can_answer(model, rows):
        asked.append(len(rows))
        return str(rows.dtypes.iloc[0] if hasattr(rows, "columns") else rows.dtype) in answered

    with mock.patch.multiple(_model_input, _can_answer=can_answer, _FEW_ASKED=2):
        found, notes = _model_input._choose_precision("m", given)
    types = [str(one) for one in found.dtypes] if hasattr(found, "columns") else str(found.dtype)
    return types, len(notes), asked


def fill(values, known, knows_missing=False, unseen=()):
    column = KnownColumn(values=None if known is None else array(known, dtype=object), part="Enc")
    column = column._replace(knows_missing=knows_missing, unseen=unseen)
    X, notes = _model_input._fill_columns(pd.DataFrame({"c": values}), {"c": column})
    return X["c"].tolist(), notes


def list_types(values):
    return [str(one.dtype) for one in _model_input._iter_types(pd.Series(values))]


def check_choice(selector, chosen):
    choice = Choice((0, 1), chosen, selector)
    table = pd.DataFrame({"a": [1.0], "b": [2], "c": [3.0]})
    told = tell_refusal(lambda: _model_input._check_choice(choice, table))
    return told and told.partition("would choose ")[2][:5]


NO_NAMES = "The model has no names of its features; it gets the table's columns in their order: "
LETTERS = list("abcdefghijkl")
READ_AS = "Column 'c' has no value in 1 of 2 rows, which are read as '?', as the model (Enc) knows "
READ_AS += "them by this word."
TABLE = "The model gets a table with the names of its columns, as it takes no array."
MODELS = [
    (lambda: choose(["a", "b"]), (["a", "b"], [])),
    (
        lambda: choose(["a", "b"], own=["a", "B!"]),
        (["a", "b"], ["Features of the model: 'B!' is the column 'b'."]),
    ),
    (
        lambda: choose(["a", "c", "d"], columns="ab"),
        "--data: the table lacks 2 of the model's 3 features: c, d",
    ),
    (
        lambda: choose(LETTERS, columns="z").partition("features: ")[2],
        f"{', '.join(LETTERS[: _model_input._MOST_NAMED])}, ...",
    ),
    (lambda: choose(n=2), (["a", "b"], [f"{NO_NAMES}'a' and 'b'."])),
    (lambda: choose(features=["b"]), (["b"], [])),
    (
        lambda: choose(n=3),
        "--data: the model takes 3 features and the table has 2; exclude columns that are not "
        "features with --drop",
    ),
    (
        lambda: choose(texts=True)[:66],
        "--data: the model takes one column of texts, and the table has 2: ",
    ),
    (lambda: choose(texts=True, features=["a"]), (["a"], [])),
    (lambda: choose(texts=True, n=2)[0], ["a", "b"]),
    # Types that a model takes a column in.
    (lambda: cast([1, 2]), ("int64", [1, 2])),
    (lambda: cast(["1", "2"], kind=NUMBER), ("int64", [1, 2])),
    (lambda: cast(["1", "x"], kind=NUMBER)[:22], "column 'c': the model "),
    (lambda: cast(["1", "x"], kind=NUMBER, known=[1])[1], ["1", "x"]),
    (lambda: cast(["1", "2"], kind=TEXT)[1], ["1", "2"]),
    (lambda: cast([1, 2], kind=NUMBER), ("int64", [1, 2])),
    (lambda: cast([True, 2.0], categories=[1, 2, 3]), ("category", [1, 2])),
    (lambda: cast([7, 2], categories=[1, 2])[1], [nan, 2]),
    (lambda: cast(["b", "a"], categories=["x"], is_listed=False), ("category", ["b", "a"])),
    (lambda: cast(pd.Categorical(["x", "y"]), categories=["x"], is_listed=False)[1], ["x", "y"]),
    (lambda: cast([1.0, 2.0], known=[1.0])[0], "object"),
    # What is known of columns, by their names in the table, or in the model.
    (lambda: know(["a", "b"]), {"a": 1, "b": 0}),
    (lambda: know(["a", "b"], ["x", "y"], ["x", "y"]), {"x": 1, "y": 0}),
    (lambda: know(None, ["a", "b"]), {"a": 1, "b": 0}),
    (lambda: know(None), {}),
    # An array, unless a model answers for a table alone; single precision if for no other.
    (lambda: choose_form(["ndarray", "DataFrame"]), (False, [], [("ndarray", 2)])),
    (lambda: choose_form(["DataFrame"]), (True, [TABLE], [("ndarray", 2), ("DataFrame", 2)])),
    (lambda: choose_form([])[:2], (False, [])),
    (lambda: choose_form(["DataFrame"], given=array(["x", "y", "z"])), (False, [], [])),
    (lambda: choose_precision(["float64"], array([1.0, 2.0, 3.0])), ("float64", 0, [2])),
    (lambda: choose_precision(["float32"], array([1.0, 2.0, 3.0])), ("float32", 1, [2, 2])),
    (lambda: choose_precision([], array([1.0, 2.0, 3.0])), ("float64", 0, [2] * 4)),
    # Whole numbers become such if the model answers for nothing else.
    (lambda: choose_precision([], array([1, 2, 3])), ("int64", 0, [2, 2])),
    (lambda: choose_precision(["int64"], array([1, 2, 3])), ("int64", 0, [2])),
    (lambda: choose_precision(["float32"], array([1, 2, 3])), ("float32", 1, [2, 2])),
    (lambda: choose_precision(["float32"], LETTERED[["b"]]), (["float32"], 1, [2, 2])),
    (lambda: choose_precision(["float32"], LETTERED), (["float32", "int64"], 1, [2, 2])),
    (lambda: choose_precision([], LETTERED[["b"]]), (["int64"], 0, [2, 2])),
    # The word that stood for missing values, if one alone can.
    (lambda: fill(["x", None], ["x", "?"]), (["x", "?"], [READ_AS])),
    (lambda: fill(["x", None], ["x", "?"], True)[1], []),
    (lambda: fill(["x", "y"], ["x", "?"])[1], []),
    (lambda: fill(["x", None], None)[1], []),
    (lambda: fill(["x", None], ["x", "y", 3])[1], []),
    (lambda: fill(["-", None], ["x", "?", "-"]), (["-", "?"], [READ_AS])),
    (lambda: fill(["x", None], ["x", "?", "-"])[1], []),
    (lambda: fill(["x", None], ["x", "?", "-"], unseen=["-"])[1], [READ_AS]),
    (lambda: fill(["?", None], ["x", "?"])[0], ["?", "?"]),
    (lambda: fill(["?", None], ["x", "?"], None)[1], []),
    (
        lambda: list_types([1, 0, 1]),
        ["category", "object", "float64", "int64", "bool", "Int64", "float32"],
    ),
    (lambda: list_types([1.5, nan])[:3], ["category", "object", "float64"]),
    (lambda: "int64" in list_types([1.0, nan]) or "int64" in list_types([1.5]), False),
    (lambda: check_choice(select_numbers, [0]), None),
    (lambda: check_choice(select_numbers, [0, 1]), "'b' o"),
    (lambda: check_choice(lambda X: 1 / 0, [0, 1]), None),
    # Values that are not known to the model are told; refused if hardly any are.
    (
        lambda: note_unknown(),
        "Column 'c': 5 of 10 values are unknown to the model (Encoder), as 'x' and 'y'; it knows "
        "'a', 'b' and 'c'.",
    ),
    (lambda: note_unknown(n_missing=2)[12:18], "5 of 8"),
    (lambda: note_unknown(share=1.0)[12:24], "all values a"),
    (
        lambda: note_unknown(n=100, share=1.0),
        "column 'c': all values are unknown to the model (Encoder), as 'x' and 'y'; it knows 'a', "
        "'b' and 'c'. Cure it",
    ),
    (
        lambda: note_unknown(n=100, share=_model_input._MOST_UNKNOWN)[0],
        "C",
    ),
    (
        lambda: [
            note_unknown(
                n=100, n_missing=k, share=1.0, n_distinct=100 // _model_input._ROWS_PER_VALUE
            )[0]
            for k in (0, 1)
        ],
        ["c", "C"],
    ),
    (
        lambda: note_unknown(is_text=True)[:50],
        "Column 'c': 5 of 10 texts hold no word that the mo",
    ),
    (lambda: note_unknown(is_text=True, share=_model_input._MOST_UNKNOWN_TEXTS)[0], "C"),
    (lambda: note_unknown(is_text=True, share=1.0)[0], "c"),
    (lambda: suggest_cure("x", "a"), "Give the values as they "),
    (lambda: suggest_cure(" a", "a", is_text=True), "Give the values as they "),
    (lambda: suggest_cure(" a", "b", "a"), "The blanks in front of t"),
    (lambda: suggest_cure("a ", "b", "a"), "The blanks differ: write"),
    (lambda: suggest_cure("A", "b", "a"), "They differ in upper and"),
    (lambda: suggest_cure("1.0", "2", "1"), "They are numbers of anot"),
    (lambda: suggest_columns(["income"], ["incme", "age"]), "; is it 'income' for 'incme'?"),
    (
        lambda: suggest_columns(["sex_f", "sex_m"], ["sex", "age"]),
        "; it was trained on dummies of 'sex': give the table as it was encoded for it",
    ),
    (lambda: suggest_columns(["zzz"], ["sex", "age"]), ""),
    # An array, or texts; objects that are numbers are read as such.
    (lambda: nameless(pd.DataFrame({"a": [1, 2], "b": [0.5, 1]})), ("f", [[1, 0.5], [2, 1.0]], [])),
    (
        lambda: nameless(NULLABLE),
        ("f", [[1.0, 1.0], [2.0, nan]], []),
    ),
    # Those that an encoder knows are as they were in training: numbers, or objects.
    (lambda: nameless(NULLABLE, values=array([1.0, 2.0]))[0], "f"),
    (lambda: nameless(NULLABLE, values=array([1.0, 2.0], dtype=object))[0], "O"),
    (lambda: nameless(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), kinds=(NUMBER, TEXT))[0], "O"),
    (
        lambda: nameless(pd.DataFrame({"t": ["x", None, "y"]}), texts=True),
        ("O", ["x", "", "y"], ["Column 't' has no text in 1 rows; they are empty texts."]),
    ),
    (lambda: nameless(pd.DataFrame({"t": ["x", "y"]}), texts=True)[2], []),
    (lambda: check_answers(), (None, [[0, 1, 2, 3]])),
    # Rows without a cause come first, then those with one alone.
    (lambda: check_answers([0]), (None, [[0, 1, 2, 3], [0], "--data"])),
    (
        lambda: check_answers([1]),
        (
            "--data: column 'a' has no value in 1 of 4 rows, and the model takes none such: cure 1",
            [[0, 1, 2, 3], [0], [1]],
        ),
    ),
    (
        lambda: check_answers([2])[0],
        "--data: column 'a' holds an infinite number in 1 of 4 rows, and the model takes none "
        "such: cure 1",
    ),
    (lambda: check_answers([3])[0][:32], "--data: column 'b' has no value "),
    (lambda: list_causes(a=[1, 2]), []),
    (
        lambda: list_causes(a=[1.0, nan, -inf]),
        [("a", "has no value", [0, 1, 0]), ("a", "holds an infinite number", [0, 0, 1])],
    ),
    (
        lambda: list_causes(["x"], a=["x", None, "y"]),
        [("a", "has no value", [0, 1, 0]), ("a", "has a value unknown to it, as 'y',", [0, 0, 1])],
    ),
    (lambda: list_causes(["x"], a=["x", "x"]), []),
    # Columns get the type by which a selector chooses those that it chose.
    (lambda: match_selectors(select_numbers, [0], {"a": [1.5, 2], "b": ["x", "y"]})[0], "float64"),
    (lambda: match_selectors(select_numbers, [0], {"a": [1, 2], "b": ["x", "y"]})[0][:5], "float"),
    (
        lambda: match_selectors(select_numbers, [0], {"a": ["u", "v"], "b": ["x", "y"]})[:72],
        "a step of the model chooses its columns by their types, and would choose",
    ),
    (lambda: match_selectors(lambda X: 1 / 0, [0], {"a": [1, 2], "b": [3, 4]}), ["int64", "int64"]),
    (lambda: open_categories({"a": None, "b": "xy"}), []),
    (
        lambda: open_categories({"a": None, "b": ""}),
        ["The model stores no categories of 'b'; they"],
    ),
    (lambda: open_categories({"a": "", "b": ""}, ["a", "b"]), []),
    (
        lambda: [
            _model_input._suggest_values(NS(kind=kind), pd.Series(values))[:9]
            for kind, values in ((TEXT, [None, nan]), (TEXT, [None, "a"]), (NUMBER, [None]))
        ],
        ["write wha", "give the ", "give the "],
    ),
    (
        lambda: [
            _model_input._may_hold_texts(pd.Series(values))
            for values in (["a"], [1.0], pd.Categorical(["a"]))
        ],
        [True, False, False],
    ),
]

# -- tables of a command


def compare_limit(name="singling_out", secret=None, column="estimate", value=0.5, rows=range(4)):
    frame = pd.DataFrame(
        {"estimate": [0.25, 0.75, nan, 0.4], "low": 0.1, "high": 0.9},
        index=["a 1", "a 2", "inference of x", "inference of y"],
    ).iloc[list(rows)]
    limit = NS(name=name, secret=secret, column=column, value=value, text="limit")
    numbers = {"singling_out": ["a 1", "a 2"], "inference": [], "membership": ["gone"]}
    numbers["copied_identifiers"] = ["copied identifiers"]
    parts = {
        "NUMBERS": numbers,
        "compare_largest": lambda rows, limit, tell: ([*rows.index], tell(rows.iloc[0])),
        "miss_number": lambda told, limit: told,
    }
    with mock.patch.multiple(_table, **parts):
        return _table._compare_table_limit(frame, limit)


def read_tables(keys=(), *, held_out=None, folder=False, drop=(), secrets=(), keep=(), **given):
    """Return the tables of a command and which options are checked."""
    checked, frames = [], [pd.DataFrame({"x": [k], "y": [k]}) for k in range(3)]
    path = lambda name: NS(  # noqa: E731
        name=name, is_dir=lambda: folder, glob=lambda pattern: ["a.csv"] if folder else []
    )
    parts = {
        "read_alike": lambda options, reading: (frames[: len(options)], [*options]),
        "make_reading": lambda arguments: "reading",
        "_read_tables_of_persons": lambda paths, arguments: (
            dict(zip(paths, frames)),
            ["persons"],
        ),
        "check_option_column": lambda frame, name, option: checked.append((option, name)),
        "check_values": lambda frame, column, option: checked.append((option, column)),
    }
    usual = dict(synthetic=path("s"), real=path("r"), target=None, person=None)
    usual |= dict(held_out=held_out and path("h"), keys=[*keys], drop=[*drop])
    arguments = NS(**usual | dict(secrets=[*secrets], keep=[*keep]) | given)
    with mock.patch.multiple(_table, **parts):
        found = refuse(lambda: _table._read_tables(arguments))
        if isinstance(found, str):
            return found
        checked.clear()
        tables, notes = _table._read_tables(arguments)
    return {name: [*one.columns] for name, one in tables.items()}, notes, checked


def run_table(*, policy=None, keys=(), target=None, keep=(), secrets=(), limits=(), **given):
    """Return what an audit of a table is given, its notes, findings and faults."""
    seen, frames = {}, {"real": pd.DataFrame(columns=["x", "id", "p"]), "synthetic": "s"}
    report = NS(settings={"a": 1}, notes=["r"], results="results")

    def audit(**given):
        seen.update(given)
        return report

    parts = {
        "check_folder": lambda name, folder: seen.update(folder=(name, folder)),
        "read_policy": lambda name, way: name,
        "_read_tables": lambda arguments: (frames, ["n"]),
        "_choose_table_identifiers": lambda tables, arguments: ["id"],
        "_check_inferred_limits": lambda limits, inferred: seen.update(inferred=[*inferred]),
        "show_stages": lambda shares: seen.update(models=shares["models"]) or mock.MagicMock(),
        "audit_units_of_table": audit,
        "as_settings": lambda arguments: "command",
        "replace": lambda report, **changed: NS(**vars(report) | changed),
        "_follow_policy": lambda report, policy, arguments: (report, ["broken"]),
        "as_table_document": lambda report: {"notes": report.notes},
        "show_table": lambda document: "shown",
        "judge_verdict": lambda way, shown: (way, shown),
        "_compare_table_limit": lambda results, limit: (0, f"of {results}"),
        "conclude_audit": lambda *given: given,
        "finish": lambda outcome, save, arguments, show: (outcome, show),
        "_estimate": lambda arguments: "cost",
    }
    usual = dict(dry_run=False, out="o", policy=policy, person="p", keys=keys, keep=keep)
    usual |= dict(
        target=target, secrets=secrets, seed=5, fail_above=limits, synthetic=Path("a/s.csv")
    )
    with mock.patch.multiple(_table, **parts):
        found = _table.run_table(NS(**usual | given), "show")
    if found == "cost":
        return found
    (report, document, findings, _, source, broken), show = found
    assert show == "show" and source == "s.csv" and seen["folder"] == ("out", "o")
    assert document == {"notes": report.notes} and report.settings == {"a": 1, "command": "command"}
    assert (seen["group_by"], seen["random_state"], seen["target"]) == ("p", 5, target)
    told = [seen[name] for name in ("inferred", "models", "units", "identifiers", "secrets")]
    return told, report.notes, [tuple(one) for one in findings], [*broken]


NAMED = {"synthetic": ["x", "y"], "real": ["x", "y"]}
CHECKED = [(option, name) for option in ("SYNTHETIC", "REAL") for name in "xy"]
TABLES = [
    (lambda: compare_limit(), (["a 1", "a 2"], "a 1")),
    (lambda: compare_limit("inference"), (["inference of y"], "inference of y")),
    (lambda: compare_limit("inference", "y")[0], ["inference of y"]),
    (lambda: compare_limit("inference", "x"), "inference could not be measured"),
    (lambda: compare_limit("membership"), "membership could not be measured"),
    (lambda: compare_limit("copied_identifiers"), (0, "")),
    (
        lambda: compare_limit("copied_identifiers", rows=[]),
        "copied identifiers could not be measured",
    ),
    (lambda: read_tables(), (NAMED, ["SYNTHETIC", "REAL"], CHECKED)),
    (
        lambda: read_tables(held_out=True)[1],
        ["SYNTHETIC", "REAL", "--held-out"],
    ),
    (lambda: read_tables(["k"])[1], ["persons"]),
    (
        lambda: read_tables(drop=["x"], target="y", secrets=["a", "b"], person="p", keep=["c"]),
        (
            {"synthetic": ["y"], "real": ["y"]},
            ["SYNTHETIC", "REAL"],
            [
                ("--drop", "x"),
                ("SYNTHETIC", "y"),
                ("REAL", "y"),
                ("--target", "y"),
                ("--secrets", "a"),
                ("--secrets", "b"),
                ("--person", "p"),
                ("--keep", "c"),
            ],
        ),
    ),
    (lambda: read_tables(drop=["x", "y"]), "--drop: no columns are left"),
    (lambda: read_tables(folder=True)[:34], "SYNTHETIC: s is a folder of tables"),
    (lambda: run_table(dry_run=True), "cost"),
    (
        lambda: run_table(),
        (
            [["x"], 0.0, _table.ROWS, "auto", None],
            ["r", "n"],
            [(_table.TABLE, "shown")],
            [],
        ),
    ),
    (
        lambda: run_table(keys=["k"], target="t", keep=["x"], secrets=["y"])[0],
        [["y"], 0.15, _table.PERSONS, ["id"], ["y"]],
    ),
    (lambda: run_table(policy="house")[3], ["broken"]),
    (
        lambda: run_table(limits=[NS(text="a=1")])[2][1],
        (_table.TABLE, "a=1", 0, "of results", None, False),
    ),
]


def test_columns_of_a_model_by_hand():
    expect_answers(MODELS)


def test_commands_on_tables_by_hand():
    expect_answers(TABLES)
