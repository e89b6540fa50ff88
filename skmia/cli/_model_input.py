"""Columns of a table in the form in which a fitted model takes them."""

import difflib
import warnings
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd

from .._core.containers import take_rows
from .._core.escaping import join_names, visible
from .._core.query import query_victim
from .._core.text import compose_accents
from ..victims import (
    NUMBER,
    TEXT,
    KnownColumn,
    complete_column,
    count_features,
    drop_cut_values,
    list_column_choices,
    list_feature_names,
    list_keys,
    list_known_columns,
    list_unknown_values,
    match_features,
    normalize_value,
    takes_texts,
)
from ._numbers import is_mark
from ._options import CommandError

_MOST_NAMED = 10
# A column of which the model does not know this share of the values is not the model's.
_MOST_UNKNOWN, _MOST_UNKNOWN_TEXTS = 0.9, 0.5
# Columns with more distinct values than rows divided by this are like identifiers, whose values
# are new in other rows.
_ROWS_PER_VALUE = 5
# Rows of which a model is asked to see whether it can answer.
_MOST_ASKED = 10_000
_FEW_ASKED = 100
# Numbers below and above those that models split by, within single precision.
_FAR = -1e30, 1e30
# A text that no model knows.
_UNKNOWN = "\ue000"
# Types among which one is looked for that a selector of columns chooses as it did.
_TYPES = ("category", "object", "str", "float64", "int64", "bool", "Int64", "string")


class ModelInput(NamedTuple):
    """Rows of a table as a model takes them, and sentences on what was done for that."""

    X: object
    notes: list


def know_columns(model, features=None):
    """What a model knows of its columns, by the names of a table, for those who read the table.

    features: columns that are given to a model without names, in their order; None if they are not
    yet known. Categories are left to as_model_input, which says what is none.
    """
    return {
        name: drop_cut_values(known)._replace(dtype=None)
        for name, known in _know(model, features).items()
    }


def _know(model, features):
    names, known = list_feature_names(model), list_known_columns(model, features)
    if names is None:
        return {name: known.get(name, KnownColumn()) for name in features or ()}
    matched = names if features is None else match_features(model, features)
    pairs = zip(names, matched, strict=True)
    return {other: known.get(name, KnownColumn()) for name, other in pairs}


def as_model_input(model, frame, features, option="--model"):
    """Give a model the columns that it was trained on, in its order and of its types."""
    names, notes = _choose_features(model, frame, features, option)
    known = _know(model, names)
    known = {name: complete_column(one, frame[name]) for name, one in known.items()}
    X = _change_columns(frame[names], known, _align_column)
    X, filled = _fill_columns(X, known)
    notes += filled
    notes += [_note_unknown_values(one, len(frame)) for one in _list_unknown(model, X)]
    X = _change_columns(X, known, _cast_column)
    notes += _note_open_categories(frame, known)
    X, told = _choose_writing(model, X, known)
    notes += told
    given, told = _give(model, X, known)
    if not _answers(model, given, len(X)):
        given, cast = _choose_precision(model, given)
        told = [*told, *cast]
        _check_answers(model, given, X, known, option)
    _refuse_empty(model, X, known, option)
    return ModelInput(given, [*notes, *told])


def _give(model, X, known):
    """Return rows in the form in which a model takes them, and notes on it."""
    names = list_feature_names(model)
    if names is None:
        return _choose_form(model, X, *_as_nameless(model, X, known))
    return _match_selectors(model, X.set_axis(names, axis=1)), []


def _choose_writing(model, X, known):
    """Return a table with whole numbers for the texts that a model does not know, and notes on it.

    In columns of which no part stores the texts, if it tells none of them apart, but the numbers:
    pandas reads 005 as 5, and TRUE as a bool, which is 1 to CatBoost.
    """
    numbers = {
        name: column
        for name in X
        if known[name].kind == TEXT and known[name].values is None
        if (column := _write_as_numbers(X[name])) is not X[name]
    }
    # Some are known beside the texts, or the numbers, of the others alone.
    tables = [X, X.assign(**numbers)]
    found = [
        name
        for name, column in numbers.items()
        if not any(_tells_apart(model, table, known, X[name], _UNKNOWN) for table in tables)
        and any(_tells_apart(model, table, known, column, _UNKNOWN) for table in tables)
    ]
    return X.assign(**{name: numbers[name] for name in found}), [
        f"Column {name!r} is read as whole numbers, 1 for true and 0 for false, as the model "
        f"({known[name].part}) knows none of its texts, such as "
        f"'{visible(X[name][X[name] != numbers[name]].iloc[0])}'."
        for name in found
    ]


def _write_as_numbers(column):
    """Return texts that are whole numbers or bools as numbers are written; else the same object."""
    numbers = _as_model_numbers(_as_bools(column))
    is_whole = numbers.dtype.kind in "bif" and (numbers % 1 == 0).all()
    written = numbers.astype(int).astype(str).astype(object) if is_whole else column
    return column if (written == column).all() else written


def _tells_apart(model, X, known, column, other):
    """Return whether a model answers otherwise for a column than for another one in its place."""
    rows, answers = np.unique(np.linspace(0, len(X) - 1, _MOST_ASKED).astype(int)), []
    for values in (column, other):
        given, _ = _give(model, X.assign(**{column.name: values}).iloc[rows], known)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answers.append(query_victim(model, given).values)
        except Exception:  # each package has exceptions of its own
            return False
    return not np.array_equal(*answers)


def _refuse_empty(model, X, known, option):
    """Refuse a column without any value by whose values a model tells rows apart.

    Trees, for example, answer for missing values without having seen any.
    """
    for name in X.columns[X.isna().all()]:
        values = _FAR if known[name].values is None else known[name].values.tolist()
        columns = [
            _cast_column(pd.Series([value] * len(X), name=name), known[name])
            for value in values[:2]
        ]
        if len(columns) == 2 and _tells_apart(model, X, known, *columns):
            raise CommandError(
                f"{option}: column {name!r} has no value in any row, and the answers of the model "
                "depend on its values: give the table with them"
            )


def _choose_form(model, X, given, notes):
    """Return a table for an array if a model only answers for one, as own transformers may do."""
    rows = np.arange(min(len(X), _FEW_ASKED))
    if given.ndim < 2 or _can_answer(model, given[rows]) or not _can_answer(model, X.iloc[rows]):
        return given, notes
    return X, [
        *notes,
        "The model gets a table with the names of its columns, as it takes no array.",
    ]


def _choose_precision(model, given):
    """Return rows in single precision if a model only answers for such, as nets do, and a note.

    Whole numbers stay, which may be codes, if the model answers for them beside the others.
    """
    rows = take_rows(given, np.arange(min(len(given), _FEW_ASKED)))
    for types in (["float64"], ["float64", "int64"]):
        single = _as_single(rows, types)
        if single is None:
            continue
        if _can_answer(model, rows):
            break
        if _can_answer(model, single):
            note = "The model gets numbers in single precision, as it takes no other."
            return _as_single(given, types), [note]
    return given, []


def _as_single(X, types):
    """Return rows with single precision in place of some types, or None if there is none."""
    if not isinstance(X, pd.DataFrame):
        return X.astype(np.float32) if X.dtype in types else None
    names = [name for name in X.columns if X[name].dtype in types]
    return X.astype(dict.fromkeys(names, np.float32)) if names else None


def _choose_features(model, frame, features, option):
    names, keys = match_features(model, frame.columns), list_keys(model)
    _refuse_absent(names or keys or (), frame, option)
    if keys is not None:  # clones would learn from further columns
        return keys, []
    if names is not None:
        pairs = zip(list_feature_names(model), names, strict=True)
        others = [
            f"{name!r} is the column {column!r}"
            for name, column in pairs
            if compose_accents(name) != compose_accents(column)
        ]
        return names, [f"Features of the model: {join_names(others, 3)}."] if others else []
    n_features = count_features(model)
    if n_features is None and len(features) > 1 and takes_texts(model):
        raise CommandError(
            f"{option}: the model takes one column of texts, and the table has {len(features)}: "
            f"{join_names(map(repr, features), _MOST_NAMED)}; leave the others out with --drop"
        )
    if n_features not in (None, len(features)):
        raise CommandError(
            f"{option}: the model takes {n_features} features and the table has {len(features)}; "
            "exclude columns that are not features with --drop"
        )
    if len(features) < 2:
        return list(features), []
    order = join_names(map(repr, features), _MOST_NAMED)
    return list(features), [
        f"The model has no names of its features; it gets the table's columns in their order: "
        f"{order}."
    ]


def _refuse_absent(names, frame, option):
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise CommandError(
            f"{option}: the table lacks {len(absent)} of the model's {len(names)} features: "
            f"{', '.join(absent[:_MOST_NAMED])}{', ...' if len(absent) > _MOST_NAMED else ''}"
            f"{_suggest_columns(absent, frame.columns)}"
        )


def _suggest_columns(absent, columns):
    """Say which columns of a table may be those that it lacks."""
    columns = list(map(str, columns))
    close = {name: difflib.get_close_matches(name, columns, n=1, cutoff=0.85) for name in absent}
    pairs = [f"{name!r} for {found[0]!r}" for name, found in close.items() if found]
    if pairs:
        return f"; is it {join_names(pairs, 3)}?"
    of_dummies = {
        column for column in columns for name in absent if name.startswith((f"{column}_",))
    }
    if of_dummies:
        names = join_names(map(repr, sorted(of_dummies)), 3)
        return f"; it was trained on dummies of {names}: give the table as it was encoded for it"
    return ""


def _change_columns(X, known, change):
    """A table with the columns that a function of each and of what is known of it has changed."""
    changed = {}
    for name, column in X.items():
        new = change(column, known[name])
        if new is not column:
            changed[name] = new
    return X.assign(**changed)


def _align_column(column, known):
    """Return a column with its values in the form that the model knows.

    As texts, numbers or bools.
    """
    if column.dtype.kind in "mM":
        return column
    if known.values is None:
        return _as_model_texts(column) if known.kind == TEXT else column
    best = fewest = None
    for form in (_keep_values, _as_model_numbers, _as_model_texts, _as_float_texts, _as_bools):
        values = form(column)
        n_unknown = np.sum(~values.isin(known.values.tolist()) & values.notna())
        if best is None or n_unknown < fewest:
            best, fewest = values, n_unknown
        if not fewest:
            break
    if known.has_none and best.isna().any():
        best = best.astype(object)
        best[best.isna()] = None
    return best


def _fill_columns(X, known):
    """Return a table with the words that stood for missing values in training, and notes on them.

    Where one is sure: the only mark that the model knows, if it has seen no missing value, or
    if the table has no such word.
    """
    words = {name: word for name in X if (word := _find_fill(X[name], known[name])) is not None}
    filled = {name: X[name].astype(object).where(X[name].notna(), words[name]) for name in words}
    return X.assign(**filled), [
        f"Column {name!r} has no value in {X[name].isna().sum()} of {len(X)} rows, which are read "
        f"as '{visible(word)}', as the model ({known[name].part}) knows them by this word."
        for name, word in words.items()
    ]


def _find_fill(column, known):
    if known.values is None or known.knows_missing or not column.isna().any():
        return None
    seen = [value for value in known.values.tolist() if value not in known.unseen]
    marks = [value for value in seen if isinstance(value, str) and is_mark(value)]
    if known.knows_missing is None or len(marks) > 1:
        present = {*column.dropna().unique().tolist()}
        marks = [value for value in marks if value not in present]
    return marks[0] if len(marks) == 1 else None


def _keep_values(column):
    return column


def _as_model_numbers(column):
    """Return a column as numbers, if all of its values are."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    numbers = pd.to_numeric(column.astype(object), errors="coerce")
    return column if (numbers.isna() & column.notna()).any() else numbers


def _as_model_texts(column):
    """Return a column as texts, whole numbers without a fraction."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column
    return column.astype(object).map(_write_value, na_action="ignore")


def _as_float_texts(column):
    """Return a column of numbers as texts that all have a fraction."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column
    return column.astype(object).map(lambda value: str(float(value)), na_action="ignore")


def _write_value(value):
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def _read_bool(value):
    return {"true": True, "false": False}.get(str(value).lower(), np.nan)


def _as_bools(column):
    """Return a column as bools, if all of its values are written so."""
    bools = column.astype(object).map(_read_bool, na_action="ignore")
    return column if (bools.isna() & column.notna()).any() else bools


def _cast_column(column, known):
    """Return a column of the type that the model takes it in.

    Refuse text where it takes numbers.
    """
    if known.dtype is not None:
        is_open = known.dtype.categories is None
        if is_open and isinstance(column.dtype, pd.CategoricalDtype):
            return column
        values = column.astype(object)
        if is_open:
            return values.astype("category")
        # As they are in the list: True is 1 there, and 2 is 2.0.
        listed = {value: value for value in known.values.tolist()}
        values = values.map(listed.get, na_action="ignore")
        return pd.Series(pd.Categorical(values, dtype=known.dtype), name=column.name)
    is_number = pd.api.types.is_numeric_dtype(column.dtype)
    if is_number and _has_objects(known):
        missing = None if known.has_none else np.nan
        return column.astype(object).where(column.notna(), missing)
    if known.kind != NUMBER or is_number:
        return column
    numbers = _as_model_numbers(column)
    if numbers is column and known.values is None:
        _refuse_text(column, known)
    return numbers


def _has_objects(known):
    """Return whether a model knows values of an array of objects.

    scikit-learn compares numbers of such an array with those of other such arrays alone.
    """
    return known.values is not None and known.values.dtype == object


def _refuse_text(column, known):
    if column.dtype.kind in "mM":
        raise CommandError(
            f"column {column.name!r} holds dates or times, and the model takes numbers there: give "
            "the table as it was prepared for the model"
        )
    present = column.dropna().astype(str)
    wrong = present[pd.to_numeric(present, errors="coerce").isna()]
    examples = _show_values(wrong.value_counts().index[:2])
    which = "all values" if len(wrong) == len(present) else f"{len(wrong)} of {len(present)} values"
    cure = "give the table as it was encoded for the model, or a pipeline that encodes it itself"
    if wrong.nunique() == 1:
        cure = (
            f"if it stands for a missing one, give --read na_values.{column.name}={wrong.iloc[0]}"
        )
    raise CommandError(
        f"column {column.name!r}: the model ({known.part}) takes numbers there, and {which} are "
        f"none, as {examples}; {cure}"
    )


def _show_values(values):
    return join_names([f"'{visible(value)}'" for value in values])


def _list_unknown(model, X):
    names = list_feature_names(model)
    if names is None:
        return list_unknown_values(model, X)
    by_name = dict(zip(names, X.columns, strict=True))
    found = list_unknown_values(model, X.set_axis(names, axis=1))
    return [one._replace(column=by_name[one.column]) for one in found]


def _note_unknown_values(unknown, n_rows):
    """Return a note on values of a column that a model does not know.

    Refuse if it knows hardly any.
    """
    n_present = n_rows - unknown.n_missing
    which = "all" if unknown.share == 1 else f"{unknown.n_unknown} of {n_present}"
    examples, known = _show_values(unknown.unknown[:2]), _show_values(unknown.known[:3])
    if unknown.is_missing:
        return (
            f"Column {unknown.column!r} has no value in {unknown.n_missing} of {n_rows} rows, and "
            f"the model ({unknown.part}) knows none such; it knows {known}. If these rows were "
            "filled before the training, write what stood there."
        )
    if unknown.is_text:
        text = (
            f"column {unknown.column!r}: {which} texts hold no word that the model knows "
            f"({unknown.part}), as {examples}; it knows {known}"
        )
        is_wrong = unknown.share > _MOST_UNKNOWN_TEXTS
    else:
        text = (
            f"column {unknown.column!r}: {which} values are unknown to the model "
            f"({unknown.part}), as {examples}; it knows {known}"
        )
        is_few = unknown.n_distinct * _ROWS_PER_VALUE <= n_present
        is_wrong = is_few and unknown.share > _MOST_UNKNOWN
    if is_wrong:
        raise CommandError(f"{text}. {_suggest_cure(unknown)}")
    return f"{text[0].upper()}{text[1:]}."


def _suggest_cure(unknown):
    """Return how the values of a column become those that a model knows."""
    column, found = unknown.column, str(unknown.unknown[0])
    close = [
        str(value) for value in unknown.known if normalize_value(value) == normalize_value(found)
    ]
    if not close or unknown.is_text:
        return "Give the values as they were in training"
    if found.lstrip() == close[0]:
        return "The blanks in front of them: --read skipinitialspace=true leaves them out"
    if found.strip() == close[0].strip():
        return "The blanks differ: write the values as the model has them"
    if found.casefold() == close[0].casefold():
        return "They differ in upper and lower case: write the values as the model has them"
    return f"They are numbers of another form: --read dtype.{column}=str leaves them as written"


def _note_open_categories(frame, known):
    """Say which categories were numbered in sorted order, as the file of the model has none."""
    columns = [
        name
        for name, found in known.items()
        if found.dtype is not None
        and found.dtype.categories is None
        and not isinstance(frame[name].dtype, pd.CategoricalDtype)
    ]
    notes = [
        f"The model stores no categories of {name!r}; its numbers are taken as their codes."
        for name, found in known.items()
        if found.codes and found.dtype is None
    ]
    if columns:
        names = join_names(map(repr, columns), _MOST_NAMED)
        notes.append(
            f"The model stores no categories of {names}; they are numbered in sorted order, as "
            "pandas numbers them. Save it with XGBoost 3.1, or give tables in Parquet with its "
            "categories."
        )
    return notes


def _match_selectors(model, X):
    """Give columns a type by which selectors of columns choose them as they did when fitted."""
    for choice in list_column_choices(model):
        for place in choice.places:
            name, is_chosen = X.columns[place], place in choice.chosen
            if _choose_by(choice.selector, X[[name]]) in (is_chosen, None):
                continue
            for column in _iter_types(X[name]):
                if _choose_by(choice.selector, column.to_frame()) is is_chosen:
                    X[name] = column
                    break
        _check_choice(choice, X)
    return X


def _choose_by(selector, X):
    """Return whether a selector chooses the column of a table; None if it cannot say."""
    with warnings.catch_warnings(), suppress(Exception):  # any function may be a selector
        warnings.simplefilter("ignore")
        return len(X.loc[:, selector(X)].columns) == 1
    return None


def _iter_types(column):
    """Yield a column in other types that leave its values as they are, and in single precision."""
    present = column.notna().to_numpy()
    values = column[present].astype(object).to_numpy()
    for name in _TYPES:
        with suppress(Exception):  # each type refuses in its own way
            cast = column.astype(name)
            kept = cast[present].astype(object).to_numpy()
            if (cast.notna() == present).all() and (kept == values).all():
                yield cast
    if column.dtype.kind in "if":  # as in a table of such, which a text file writes in few digits
        yield column.astype(np.float32)


def _check_choice(choice, X):
    """Refuse a table from which a function of the model's chooses other columns than before."""
    given, found = X.iloc[:, list(choice.places)], None
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        found = set(given.loc[:, choice.selector(given)].columns)
    wanted = {X.columns[place] for place in choice.chosen}
    if found not in (wanted, None):
        names = join_names(map(repr, sorted(found ^ wanted)), _MOST_NAMED)
        raise CommandError(
            f"a step of the model chooses its columns by their types, and would choose {names} "
            "otherwise in this table: give the table in Parquet with the types of the model's "
            "training, or --read dtype.COLUMN=category"
        )


def _as_nameless(model, X, known):
    """Return rows as a model without names takes them: an array, or a sequence of texts.

    Return given, notes.
    """
    if list_keys(model) is not None:
        rows = np.empty(len(X), dtype=object)
        rows[:] = X.to_dict("records")
        return rows, []
    if takes_texts(model):
        texts, name = X.iloc[:, 0], X.columns[0]
        is_empty, notes = texts.isna(), []
        if is_empty.any():
            notes = [f"Column {name!r} has no text in {is_empty.sum()} rows; they are empty texts."]
        texts = texts.astype(object).to_numpy(copy=True)
        texts[is_empty] = ""
        return texts, notes
    values = X.to_numpy()
    of_numbers = all(one.kind == NUMBER and not _has_objects(one) for one in known.values())
    if values.dtype == object and of_numbers and known:
        values = X.to_numpy(dtype=float, na_value=np.nan)
    return values, []


def _check_answers(model, given, X, known, option):
    """Ask a model for its answers; refuse the table by the column that it cannot take."""
    if _answers(model, given, len(X)):
        return
    causes = _list_causes(X, known)
    n_causes = np.sum([rows for *_, rows in causes], axis=0) if causes else np.zeros(len(X))
    plain = np.flatnonzero(n_causes == 0)[:_MOST_ASKED]
    if len(plain) and not _can_answer(model, take_rows(given, plain)):
        _refuse_unknown_texts(X, known, option)
        return  # the audit says what is wrong with the model
    for name, what, rows in causes:
        alone = np.flatnonzero(rows & (n_causes == 1))[:_MOST_ASKED]
        if len(alone) and not _can_answer(model, take_rows(given, alone)):
            raise CommandError(
                f"{option}: column {name!r} {what} in {rows.sum()} of {len(X)} rows, and the model "
                f"takes none such: {_suggest_values(known[name], X[name][alone])}"
            )


def _refuse_unknown_texts(X, known, option):
    """Refuse columns of texts of which nothing is known, which most models take in another form."""
    texts = [
        name
        for name, found in known.items()
        if found.kind is None and found.dtype is None and _may_hold_texts(X[name])
    ]
    if texts:
        raise CommandError(
            f"{option}: the model does not answer for this table. It does not say in which form it "
            f"takes {join_names(map(repr, texts), _MOST_NAMED)}, which hold text: give the table "
            "in Parquet with the types of the model's training, or --read dtype.COLUMN=category"
        )


def _may_hold_texts(column):
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    return not (is_category or pd.api.types.is_numeric_dtype(column.dtype))


def _suggest_values(known, refused):
    """Return what takes the place of values that a model does not take."""
    if known.kind == TEXT and refused.isna().all():  # by models that store their values or none
        return (
            "write what the model was trained on in their place, as 'nan', or read empty fields "
            "and words as 'NA' as values with --read keep_default_na=false"
        )
    return "give the values as they were in training, or leave these rows out"


def _list_causes(X, known):
    """Columns with values that some models refuse, each with what is said of it and the rows."""
    causes = []
    for name in X.columns:
        values, missing = known[name].values, X[name].isna().to_numpy()
        causes.append((name, "has no value", missing))
        if X[name].dtype.kind == "f":
            causes.append(
                (name, "holds an infinite number", np.isinf(X[name].to_numpy(dtype=float)))
            )
        if values is not None:
            rows = ~X[name].astype(object).isin(values.tolist()).to_numpy() & ~missing
            example = visible(X[name][rows].iloc[0]) if rows.any() else ""
            causes.append((name, f"has a value unknown to it, as '{example}',", rows))
    return [cause for cause in causes if cause[-1].any()]


def _answers(model, given, n_rows):
    """Return whether a model answers for rows from all over a table."""
    some = np.unique(np.linspace(0, n_rows - 1, _MOST_ASKED).astype(int))
    return _can_answer(model, take_rows(given, some))


def _can_answer(model, X):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            query_victim(model, X)
    except Exception:  # each package has exceptions of its own
        return False
    return True
