"""Which kinds and values of its columns a fitted model knows, and which values of a table not."""

from collections import Counter
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import BaseDecisionTree
from sklearn.utils import get_tags

from .._core.containers import as_table, choose_columns, in_memory, is_frame
from .._core.escaping import join_names
from .._core.features import list_chosen_places
from .._core.optional import is_of_package
from .._core.query import unwrap
from .._core.sklearn import list_fitted_estimators, read_known_categories_of_boosting
from .._core.text import fold_text
from ._boosters import is_catboost, is_lightgbm, is_xgboost, load_lightgbm
from ._model_features import (
    HISTOGRAMS,
    CutText,
    complete_categories,
    read_categories_of_xgboost,
    read_codes_of_xgboost,
)
from ._onnx import is_onnx, list_input_types
from ._resampling import is_sampler

NUMBER, TEXT = "number", "text"
# Examples of values that are listed of a column.
_MOST_EXAMPLES = 5
# Ways to assign lists of categories to columns that are compared.
_MOST_WAYS = 10_000
# Packages whose estimators say whether they take other things than numbers, and hand on the rows
# that they are given to those inside them. A class of others' may do anything.
_KNOWN_PACKAGES = "sklearn", "imblearn", "skorch", __package__.partition(".")[0]


class KnownColumn(NamedTuple):
    """What a fitted model knows of a column of its table."""

    kind: str | None = None  # ``"number"`` or ``"text"``; None if it is not known
    values: np.ndarray | None = None  # that the model knows, no missing one; None if any
    # Of a column that has to hold categories, in the order of their codes. It lists none if the
    # model does not store them.
    dtype: pd.CategoricalDtype | None = None
    part: str = ""  # class of the estimator that says so
    has_none: bool = False  # whether its missing values are None, as in tables of databases
    # Whether missing values were among those of the training, or are filled; None if nothing tells.
    knows_missing: bool | None = None
    codes: frozenset = frozenset()  # of categories that are not stored, as far as trees name them
    unseen: tuple = ()  # categories that no training row had, as far as the file says


class UnknownColumnValues(NamedTuple):
    """Values of a column that a part of a model does not know; of texts those without its words."""

    column: str | int
    part: str  # class of the estimator that does not know them
    share: float  # of the values that are not missing
    n_unknown: int
    n_missing: int
    n_distinct: int  # different values of the column, a missing one aside
    unknown: tuple  # examples, the most frequent first
    known: tuple  # examples of what the model knows, first those that differ in form alone
    is_text: bool = False  # whether texts without any known word are counted
    is_missing: bool = False  # whether what is unknown is that there is no value
    may_be_seen: bool = False  # whether the part was told what to know, and ignores other values


class _ColumnStatement(NamedTuple):
    """What one part of a model says of one column."""

    place: int  # of the column among those of the whole model
    known: KnownColumn
    vectorizer: object = None  # of texts that reach it as they are
    is_told: bool = False  # whether the user has listed the values, and others are ignored


class ColumnChoice(NamedTuple):
    """Columns that a fitted ColumnTransformer chose by a function, as make_column_selector."""

    selector: object
    places: tuple  # of the columns that it chose from, among those of the whole model
    chosen: frozenset  # places of those that it chose


class _KnownReading(NamedTuple):
    """What was found on a walk through a model."""

    statements: list
    choices: list
    names: list  # of the columns of the whole model, as far as they are known


class _ChangedPlace(int):
    """Place of a column whose values a function has changed."""


class _FilledPlace(int):
    """Place of a column whose missing values were filled."""

    mark = np.nan  # what stood for them


def list_known_columns(model, names=None):
    """Return by the name of each column what a fitted model knows of it.

    Places take the part of names in a model that was fitted without them, if names is None.
    """
    found = {}
    for said in _walk_through(model, names).statements:
        before = found.get(said.place)
        found[said.place] = (
            said.known if before is None else _join_known_columns(before, said.known)
        )
    labels = list_feature_names(model)
    labels = names if labels is None else labels
    by_name = labels is not None and max(found, default=0) < len(labels)
    return {labels[place] if by_name else int(place): found[place] for place in sorted(found)}


def list_feature_names(model):
    """Return the names of the columns that a model was fitted with, in its order.

    None if it has none.
    """
    model, names = unwrap(model), None
    with suppress(Exception):  # an attribute of a foreign class can be anything
        names = getattr(model, "feature_names_in_", None)
        if names is None:  # CatBoost has another attribute
            names = getattr(model, "feature_names_", None)
        names = None if names is None else [str(name) for name in names]
    if names is None:
        return None
    if any(names == [form.format(k) for k in range(len(names))] for form in _list_made_up(model)):
        return None
    return names


# Names of the columns of arrays, in models of LightGBM and CatBoost and in old ones of XGBoost.
_MADE_UP = {is_lightgbm: "Column_{}", is_catboost: "{}", is_xgboost: "f{}"}


def _list_made_up(model):
    """Return the forms of names that a model may have made up.

    Models of scikit-learn note the names of a table, but copy those of a LightGBM inside. XGBoost
    stores types of columns with the names of a table alone.
    """
    while "feature_names_in_" not in vars(model):
        if isinstance(model, Pipeline) and model.steps:
            model = unwrap(model.steps[0][1])
        elif hasattr(model, "best_estimator_"):
            model = unwrap(model.best_estimator_)
        elif hasattr(model, "estimator_"):
            model = unwrap(model.estimator_)
        else:
            if is_xgboost(model) and model.get_booster().feature_types:
                return []
            known = [form for is_of_kind, form in _MADE_UP.items() if is_of_kind(model)]
            return known or list(_MADE_UP.values())
    return ["Column_{}"]


def match_features(model, columns):
    """Return the columns of a table by the model's names of its features, in its order.

    None without names.

    A column that differs in case, blanks and signs alone is the feature, as LightGBM writes names
    without blanks. A name that the table lacks stands for itself.
    """
    names = list_feature_names(model)
    if names is None:
        return None
    lacking = {_strip_name(name): name for name in set(names) - set(columns)}
    free = set(columns) - set(names)
    forms = Counter(map(_strip_name, free))
    others = {
        lacking[form]: column
        for form, column in ((_strip_name(column), column) for column in free)
        if form in lacking and forms[form] == 1
    }
    return [others.get(name, name) for name in names]


def _strip_name(name):
    return "".join(filter(str.isalnum, fold_text(name)))


def order_columns(model, X):
    """Return a table with the columns that a model was fitted with, in its order.

    For those who read a model and do not query it, which does it by ``order_named_columns``. Where
    the model, or the table, has no names, columns are known by their place.
    """
    table = as_table(X)
    names = [] if table is None else list(table.columns)
    is_named = names and all(isinstance(name, str) for name in names)
    wanted = match_features(model, names) if is_named else None
    if wanted is None or wanted == names:
        return X
    if len(set(names)) == len(names) == len(wanted) and set(names) == set(wanted):
        return choose_columns(X, wanted)
    if _chooses_columns(model):
        return X
    differ = {
        "X lacks": sorted(set(wanted) - set(names)),
        "the model was fitted without": sorted(set(names) - set(wanted)),
    }
    told = [
        f"{what} {join_names(map(repr, some), _MOST_EXAMPLES)}"
        for what, some in differ.items()
        if some
    ]
    raise ValueError(
        "X must have the columns that the model was fitted with, by their names; "
        f"{join_names(told) or 'a name occurs twice'}."
    )


def keep_known_columns(model, X):
    """Return a table with the columns alone that a model was fitted with, in its order.

    A clone would learn from the others too, as from the labels or names of its rows. A table
    without names, or without some of these columns, stays as it is.
    """
    table, names = as_table(X), list_feature_names(model)
    given = [] if table is None or names is None else list(table.columns)
    is_known = given != names and len({*given}) == len(given) and {*given} >= {*(names or [None])}
    return choose_columns(X, names) if is_known else X


def say_left_out(before, after):
    """Say which columns of a table a model was not fitted with, in a list; none if all are left."""
    if before is after or as_table(before) is None:
        return []
    left = [name for name in as_table(before).columns if name not in {*as_table(after).columns}]
    names = join_names(map(repr, left), _MOST_EXAMPLES)
    return [f"Columns on which the model was not trained are left out: {names}."] * bool(left)


def _chooses_columns(model):
    """Return whether a model takes its columns of a table by their names, and ignores others."""
    model = unwrap(model)
    if isinstance(model, Pipeline) and model.steps:
        return _chooses_columns(model.steps[0][1])
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_ is not model and _chooses_columns(model.best_estimator_)
    if isinstance(model, FunctionTransformer):
        return not model.validate  # the function then gets any table
    return isinstance(model, ColumnTransformer)


def list_unknown_values(model, X):
    """List the values of a table that encoders and vectorizers of a fitted model do not know.

    X (n, n_features): table, or array if the model has no names; others have no columns.
    """
    X = in_memory(X)
    if isinstance(X, pd.Series):
        X = X.to_frame()
    names = list(X.columns) if is_frame(X) else None
    if names is None and (not isinstance(X, np.ndarray) or X.ndim > 2):
        return []
    X = X.reshape(len(X), -1) if names is None else X
    places = _find_column_places(model, names, X.shape[1])
    found, seen = [], set()
    for said in _walk_through(model, names).statements:
        place = places.get(int(said.place))
        if place is None or not _has_values(said):
            continue
        name = place if names is None else names[place]
        try:
            column = pd.Series(X[:, place]) if names is None else X.iloc[:, place]
            both = _compare_column(name, column, said), _compare_missing(name, column, said)
        except Exception:  # of functions and values of any class
            continue
        for unknown in both:
            if unknown is not None and (key := (*unknown[:2], unknown.is_missing)) not in seen:
                seen.add(key)
                found.append(unknown)
    return found


def _find_column_places(model, names, n_columns):
    """Return the place in a table of each column of a model, by name if both have names."""
    labels = list_feature_names(model)
    if names is None or labels is None:
        return {place: place for place in range(n_columns)}
    of_table = {name: place for place, name in enumerate(names)}
    return {place: of_table[name] for place, name in enumerate(labels) if name in of_table}


def _has_values(said):
    """Return whether values of the table can be compared with those of a part."""
    is_listed = said.known.values is not None and not isinstance(said.place, _ChangedPlace)
    return said.vectorizer is not None or is_listed


def _compare_column(name, column, said):
    said = said._replace(known=complete_column(said.known, column))
    is_missing = column.isna()
    counts = column[~is_missing].astype(object).value_counts()
    if said.vectorizer is None:
        known = said.known.values.tolist()
        is_known = counts.index.isin(known)
    else:
        vocabulary, analyze = said.vectorizer.vocabulary_, said.vectorizer.build_analyzer()
        known = sorted(vocabulary, key=len, reverse=True)
        is_known = [any(word in vocabulary for word in analyze(text)) for text in counts.index]
    is_unknown = ~np.asarray(is_known, dtype=bool)
    n_unknown = int(counts[is_unknown].sum())
    if not n_unknown:
        return None
    unknown = counts.index[is_unknown][:_MOST_EXAMPLES]
    forms = {normalize_value(value) for value in unknown}
    return UnknownColumnValues(
        column=name,
        part=said.known.part,
        share=n_unknown / int(counts.sum()),
        n_unknown=n_unknown,
        n_missing=int(is_missing.sum()),
        n_distinct=len(counts),
        unknown=tuple(unknown),
        known=tuple(sorted(known, key=lambda value: normalize_value(value) not in forms))[
            :_MOST_EXAMPLES
        ],
        is_text=said.vectorizer is not None,
        may_be_seen=said.is_told,
    )


def _compare_missing(name, column, said):
    """Return that a column has rows without a value, if a part has seen none such."""
    n_missing = int(column.isna().sum())
    if not n_missing or said.known.knows_missing is not False:
        return None
    present = {*column.dropna().tolist()}  # what is not may have stood for a missing value
    known = sorted(said.known.values.tolist(), key=lambda value: value in present)
    share, missing = n_missing / len(column), (np.nan,)
    counts = n_missing, n_missing, column.nunique()
    return UnknownColumnValues(
        *(name, said.known.part, share, *counts, missing, tuple(known[:_MOST_EXAMPLES])),
        is_missing=True,
        may_be_seen=said.is_told,
    )


def normalize_value(value):
    """Return a value without what differs between tables that mean the same.

    Blanks, case, fractions.
    """
    text = fold_text(str(value))
    try:
        return float(text)
    except ValueError:
        return text


def _join_known_columns(first, second):
    """Return what two parts say of one column: the values that at least one of them knows."""
    values, part = first.values, first.part
    if values is None:
        values, part = second.values, first.part if second.values is None else second.part
    elif second.values is not None:  # as of the models of a cross-validation
        joined = dict.fromkeys([*values.tolist(), *second.values.tolist()])
        values = _drop_missing_values(list(joined))
    dtype = second.dtype if first.dtype is None else first.dtype
    has_none = first.has_none or second.has_none
    told = {first.knows_missing, second.knows_missing} - {None}
    return KnownColumn(
        first.kind or second.kind,
        values,
        dtype,
        part,
        has_none,
        any(told) if told else None,
        first.codes | second.codes,
        (*first.unseen, *second.unseen),
    )


def list_column_choices(model):
    """List the choices of columns by a function that a clone makes again from its own table."""
    return _walk_through(model).choices


def _walk_through(model, names=None):
    model = unwrap(model)
    said = _KnownReading([], [], list_feature_names(model) or list(names or ()))
    # Vectorizers of texts count no columns.
    n_columns = count_features(model) or len(names or [0])
    _know_part(model, list(range(n_columns)), said)
    return said


def count_features(model):
    """Return the number of columns that a model takes; None if it does not say."""
    with suppress(Exception):  # an attribute of a foreign class can be anything
        # CatBoost has numbers for names, and no number in its files.
        stated = getattr(model, "n_features_in_", None)
        return int(stated or len(getattr(model, "feature_names_", ()))) or None
    return None


def list_keys(model):
    """List the keys that a model knows of the dictionaries that it takes in place of columns.

    None if it takes none.
    """
    model = unwrap(model)
    while isinstance(model, Pipeline) or hasattr(model, "best_estimator_"):
        is_search = not isinstance(model, Pipeline)
        model = unwrap(model.best_estimator_ if is_search else model.steps[0][1])
    if not isinstance(model, DictVectorizer):
        return None
    keys = (feature.partition(model.separator)[0] for feature in model.feature_names_)
    return list(dict.fromkeys(keys))


def takes_texts(model):
    """Return whether a model takes a sequence of texts in place of columns."""
    model = unwrap(model)
    if list_feature_names(model) is not None or count_features(model) is not None:
        return False
    return any(said.known.kind == TEXT for said in _walk_through(model).statements)


def _know_part(part, columns, said):
    """Add what a fitted part says of the columns that reach it; return those that leave it.

    columns: places of the columns that reach it, None for one that was computed of others; None if
    it is not known how many there are.
    """
    part = unwrap(part)
    if part is None or isinstance(part, str):  # "passthrough"
        return columns
    try:
        for applies, read in _READERS:
            if applies(part):
                return read(part, columns, said)
    except Exception:  # parts of other packages and damaged ones can fail in any way
        return None
    return None


def _add_statements(part, columns, said, knowns, is_told=False):
    """Add a statement for each column whose place is known."""
    for place, known in zip(columns or (), knowns, strict=False):
        if place is not None:
            said.statements.append(
                _ColumnStatement(place, known._replace(part=type(part).__name__), is_told=is_told)
            )


def _read_steps(pipeline, columns, said):
    for _, step in pipeline.steps:
        if not is_sampler(step):
            columns = _know_part(step, columns, said)
    return columns


def _read_column_transformer(transformer, columns, said):
    names = [str(name) for name in getattr(transformer, "feature_names_in_", ())]
    columns = [None] * transformer.n_features_in_ if columns is None else columns
    _add_choices(transformer, names, columns, said)
    ends = transformer.output_indices_
    leaving = [None] * max((part.stop for part in ends.values()), default=0)
    for name, part, chosen in transformer.transformers_:
        if isinstance(part, str) and part == "drop":
            continue
        some = [columns[place] for place in list_chosen_places(chosen, names, len(columns))]
        out, place = _know_part(part, some, said), ends.get(name, slice(0, 0))
        if out is not None and len(out) == place.stop - place.start:
            leaving[place] = out
    return leaving


def _add_choices(transformer, names, columns, said):
    if any(place is None or isinstance(place, _ChangedPlace) for place in columns):
        return
    for given, fitted in zip(transformer.transformers, transformer.transformers_, strict=False):
        if callable(given[2]):
            chosen = list_chosen_places(fitted[2], names, len(columns))
            chosen = frozenset(columns[place] for place in chosen)
            said.choices.append(ColumnChoice(given[2], tuple(columns), chosen))


def _read_union(union, columns, said):
    parts = [_know_part(part, columns, said) for _, part in union.transformer_list]
    return None if any(part is None for part in parts) else [*chain(*parts)]


def _read_models_inside(model, columns, said):
    """Read the models that a model holds, each of which gets its columns."""
    for name in ("best_estimator_", "estimator_", "regressor_"):
        if hasattr(model, name):
            _know_part(getattr(model, name), columns, said)
            return None
    for estimator in getattr(model, "calibrated_classifiers_", ()):
        _know_part(estimator.estimator, columns, said)
    estimators = list_fitted_estimators(model)
    subsets = getattr(model, "estimators_features_", None)
    for k, estimator in enumerate(estimators):
        some = columns if subsets is None else [columns[place] for place in subsets[k]]
        _know_part(estimator, some, said)
    if not estimators and not hasattr(model, "calibrated_classifiers_"):
        _know_part(model.estimator, columns, said)
    return None


def _is_of_known_package(part):
    return type(part).__module__.partition(".")[0] in _KNOWN_PACKAGES


def _has_models_inside(part):
    if hasattr(part, "get_support") or not _is_of_known_package(part):
        return False
    if any(hasattr(part, name) for name in ("best_estimator_", "regressor_", "estimator_")):
        return True
    estimators = list_fitted_estimators(part)
    if estimators:
        return not all(isinstance(unwrap(one), BaseDecisionTree) for one in estimators)
    return hasattr(part, "calibrated_classifiers_") or _is_of_one_output(part)


def _is_of_one_output(part):
    return is_of_package(part, __package__) and hasattr(part, "estimator")


def _read_selection(selector, columns, said):
    """Read a step that hands on some of its columns as they are."""
    _know_numbers(selector, columns, said)
    return None if columns is None else [columns[k] for k in selector.get_support(indices=True)]


def _read_function(step, columns, said):
    """Read a step that applies any function; one to numbers if it is one of numpy."""
    if step.func is None or columns is None:
        return columns
    if isinstance(step.func, np.ufunc):
        return _know_numbers(step, columns, said)
    return [_ChangedPlace(columns[0])] if len(columns) == 1 and columns[0] is not None else None


def _know_imputer(imputer, columns, said):
    filled = np.asarray(imputer.statistics_)
    fills = pd.isna(imputer.missing_values)
    knowns = [
        KnownColumn(
            _name_kind_of_values(_drop_missing_values([value])), knows_missing=fills or None
        )
        for value in filled.tolist()
    ]
    _add_statements(imputer, columns, said, knowns)
    if columns is None or imputer.add_indicator or pd.isna(filled).any():
        return None  # a column without values is left out
    return [_fill_place(place, imputer.missing_values) for place in columns]


def _fill_place(place, mark):
    if place is None or isinstance(place, _ChangedPlace):
        return place
    filled = _FilledPlace(place)
    filled.mark = mark
    return filled


def _know_encoder(encoder, columns, said):
    """Read an encoder that stores the categories of each of its columns."""
    stored = encoder.categories_
    if columns is None or len(stored) != len(columns):
        return None
    knowns = [_know_values(values) for values in stored]
    # Values that a function has made of a column say nothing of its own.
    for k, place in enumerate(columns):
        if isinstance(place, _ChangedPlace):
            knowns[k] = KnownColumn()
        elif isinstance(place, _FilledPlace) and pd.isna(place.mark):
            knowns[k] = knowns[k]._replace(knows_missing=True)
        elif isinstance(place, _FilledPlace):
            values = knowns[k].values
            dtype = values.dtype if values.dtype.kind in "iuf" else object
            values = np.array([*values.tolist(), place.mark], dtype=dtype)
            knowns[k] = knowns[k]._replace(values=values)
    _add_statements(encoder, columns, said, knowns, is_told=_ignores_others(encoder))
    return None


def _ignores_others(encoder):
    """Return whether an encoder was told its categories, and takes rows with others as well."""
    is_told = not isinstance(getattr(encoder, "categories", "auto"), str)
    return is_told and getattr(encoder, "handle_unknown", None) != "error"


def _know_values(values):
    has_none = any(value is None for value in np.asarray(values).tolist())
    present = _drop_missing_values(values)
    kind, knows_missing = _name_kind_of_values(present), len(present) < len(values)
    return KnownColumn(kind, present, has_none=has_none, knows_missing=knows_missing)


def _know_dictionaries(vectorizer, columns, said):
    """Read a step that gets each row as a dictionary: one column for each text, and numbers."""
    if columns is None or len(columns) != len(said.names):  # of which a function has made them
        return
    texts, numbers = {}, set()
    for feature in vectorizer.feature_names_:
        name, is_text, value = feature.partition(vectorizer.separator)
        texts.setdefault(name, []).append(value) if is_text else numbers.add(name)
    for place, name in zip(columns, said.names, strict=True):
        known = KnownColumn(NUMBER if name in numbers else None)
        if name in texts and name not in numbers:
            known = KnownColumn(TEXT, np.array(texts[name], dtype=object))
        _add_statements(vectorizer, [place], said, [known])


def _know_labels(encoder, columns, said):
    values = _drop_missing_values(encoder.classes_)
    if columns is not None and len(columns) == 1 and not isinstance(columns[0], _ChangedPlace):
        _add_statements(encoder, columns, said, [KnownColumn(_name_kind_of_values(values), values)])


def _read_vectorizer(vectorizer, columns, said):
    """Read a step that counts the words of texts, which reach it in one column."""
    if columns is None or len(columns) != 1 or columns[0] is None:
        return
    _add_statements(vectorizer, columns, said, [KnownColumn(TEXT)])
    if hasattr(vectorizer, "vocabulary_") and not isinstance(columns[0], _ChangedPlace):
        said.statements[-1] = said.statements[-1]._replace(vectorizer=vectorizer)


def _know_numbers(part, columns, said):
    places = [None if isinstance(place, _ChangedPlace) else place for place in columns or ()]
    _add_statements(part, places, said, [KnownColumn(NUMBER)] * len(places))
    return [None] * len(places) if hasattr(part, "inverse_transform") else None


def _takes_numbers(part):
    """Return whether a part of a known package takes numbers alone."""
    if not _is_of_known_package(part):
        return False
    tags = get_tags(part)
    given = tags.input_tags
    return not (tags.no_validation or given.string or given.categorical or given.dict)


def _know_histograms(model, columns, said):
    knowns = [KnownColumn(NUMBER)] * model.n_features_in_
    by_dtype = str(model.categorical_features) == "from_dtype"
    for column, values in read_known_categories_of_boosting(model):
        knowns[column] = _know_categories(values, always=by_dtype)
    _add_statements(model, columns, said, knowns)


def _know_categories(values, *, always=True, ordered=False):
    """Return a column of categories.

    Numbers that stand for categories need no type unless always.
    """
    known = _know_values(values)._replace(knows_missing=None)  # which boosters take as they are
    if _are_cut(known.values):  # so that several may be the same
        return known._replace(dtype=pd.CategoricalDtype())
    is_needed = always or known.kind != NUMBER
    dtype = pd.CategoricalDtype(known.values, ordered)
    return known._replace(dtype=dtype) if is_needed else known


def _know_xgboost(model, columns, said):
    types = model.get_booster().feature_types or [""] * model.n_features_in_
    stored = read_categories_of_xgboost(model) if "c" in types else {}
    codes = read_codes_of_xgboost(model) if types.count("c") > len(stored) else {}
    knowns = [KnownColumn(NUMBER)] * len(types)
    for column in np.flatnonzero(np.array(types) == "c").tolist():
        if column in stored:
            knowns[column] = _know_categories(stored[column])
        elif list_feature_names(model) is None:  # of an array, which holds the codes
            knowns[column] = KnownColumn(NUMBER)
        else:  # files before version 3.1 store no categories, and those of numbers never do
            named = frozenset(codes.get(column, ()))
            knowns[column] = KnownColumn(dtype=pd.CategoricalDtype(), codes=named)
    _add_statements(model, columns, said, knowns)


def _know_lightgbm(model, columns, said):
    knowns = [KnownColumn(NUMBER)] * model.booster_.num_feature()
    if stored := model.booster_.pandas_categorical:
        text = load_lightgbm(model)
        for column, values in _assign_categories(stored, text).items():
            # Those that were split as numbers are in order.
            ordered = bool(not text.n_categories[column] and np.isfinite(text.ranges[column]).all())
            seen = range(len(values)) if ordered else text.seen[column]
            unseen = tuple(value for code, value in enumerate(values) if code not in seen)
            knowns[column] = _know_categories(values, ordered=ordered)._replace(unseen=unseen)
    _add_statements(model, columns, said, knowns)


def _assign_categories(stored, text):
    """Return the categories of each column that was of pandas' category type, by its number.

    LightGBM stores the lists of these columns in their order, and not which columns they were.
    """
    given = text.settings.get("categorical_feature", "")
    named = [int(one) for one in given.split(",") if one.strip().isdigit()]
    for candidates in (sorted(named), np.flatnonzero(text.n_categories).tolist()):
        if len(candidates) == len(stored):
            return dict(zip(candidates, stored, strict=True))
    places = _assign_lists([len(values) for values in stored], text)
    return {} if places is None else dict(zip(places, stored, strict=True))


def _assign_lists(sizes, text):
    """Return the columns that can best have so many categories each, in order; None if several can.

    Ordered categories are split like numbers, and their range is that of their codes. Of all
    columns with categories, and of all categories of a column, few are left out.
    """
    low, high = text.ranges.T if len(text.ranges) else np.empty((2, 0))
    of_category = text.n_categories > 0
    ways = [[]]
    for size in sizes:
        fits = of_category & (text.n_categories <= size + 1)
        fits |= ~of_category & (low >= 0) & (high < size) & (low % 1 == 0) & (high % 1 == 0)
        places = np.flatnonzero(fits).tolist()
        ways = [[*way, place] for way in ways for place in places if not way or place > way[-1]]
        if len(ways) > _MOST_WAYS:
            return None
    lacks = [_count_lacking(way, sizes, text.n_categories) for way in ways]
    best = min(lacks, default=None)
    return ways[lacks.index(best)] if lacks.count(best) == 1 else None


def _count_lacking(way, sizes, n_categories):
    """Count columns with categories that get no list, and categories of lists that no row had."""
    pairs = zip(sizes, n_categories[way], strict=True)
    unseen = sum(max(size - n, 0) for size, n in pairs if n)
    return int((n_categories > 0).sum() - (n_categories[way] > 0).sum()), unseen


def _know_catboost(model, columns, said):
    # Whole numbers in a column of categories are taken for their digits.
    knowns = [KnownColumn(NUMBER)] * len(model.feature_names_)
    for column in (*model.get_cat_feature_indices(), *model.get_text_feature_indices()):
        knowns[column] = KnownColumn(TEXT)
    for column in model.get_embedding_feature_indices():
        knowns[column] = KnownColumn()
    _add_statements(model, columns, said, knowns)


def _read_onnx(model, columns, said):
    kinds = [TEXT if kind == "tensor(string)" else NUMBER for kind in list_input_types(model)]
    kinds = kinds * len(columns) if len(kinds) == 1 else kinds
    _add_statements(model, columns, said, [KnownColumn(kind) for kind in kinds])


def complete_column(known, column):
    """The same with what the file leaves open, as the values of a column have it.

    Categories that are cut off, and numbers that are the codes of categories themselves.
    """
    if known.codes and pd.api.types.is_numeric_dtype(column.dtype):
        values = column.dropna().unique()
        # Codes count categories from 0, and each number of a column of codes is one.
        can_count = not known.codes <= {*values.tolist()} and max(known.codes) < len(values)
        return known if can_count else known._replace(kind=NUMBER, dtype=None)
    if known.dtype is None or known.values is None or not _are_cut(known.values):
        return known
    values = _drop_missing_values(
        complete_categories(known.values.tolist(), column.dropna().unique())
    )
    return known._replace(values=values, dtype=pd.CategoricalDtype(values))


def drop_cut_values(known):
    """Return the same without values of which their file has lost the end."""
    if known.values is None or not _are_cut(known.values):
        return known
    whole = [str(one) for one in known.values if not isinstance(one, CutText) or one.is_whole]
    return known._replace(values=np.array(whole, dtype=object))


def _are_cut(values):
    return any(isinstance(value, CutText) for value in values)


def _drop_missing_values(values):
    """Return values as an array, without missing ones."""
    values = np.array(values, dtype=object) if _are_cut(values) else np.asarray(values)
    return values[~pd.isna(values)]


def _name_kind_of_values(values):
    """Return whether values are numbers or texts.

    None if they are both, something else or none at all.
    """
    kinds = {str if isinstance(value, str) else type(value) for value in values.tolist()}
    if kinds and kinds <= {int, float}:
        return NUMBER
    return TEXT if kinds == {str} else None


# Which parts of models are read in which way; the first that applies is taken.
_READERS = (
    (lambda part: isinstance(part, Pipeline), _read_steps),
    (lambda part: isinstance(part, ColumnTransformer), _read_column_transformer),
    (lambda part: isinstance(part, FeatureUnion), _read_union),
    (lambda part: isinstance(part, HISTOGRAMS), _know_histograms),
    (is_xgboost, _know_xgboost),
    (is_lightgbm, _know_lightgbm),
    (is_catboost, _know_catboost),
    (is_onnx, _read_onnx),
    (_has_models_inside, _read_models_inside),
    (lambda part: isinstance(part, FunctionTransformer), _read_function),
    (lambda part: isinstance(part, SimpleImputer), _know_imputer),
    (lambda part: isinstance(part, DictVectorizer), _know_dictionaries),
    (lambda part: hasattr(part, "categories_"), _know_encoder),
    (lambda part: hasattr(part, "build_analyzer"), _read_vectorizer),
    (lambda part: hasattr(part, "classes_") and not hasattr(part, "predict"), _know_labels),
    (lambda part: hasattr(part, "get_support"), _read_selection),
    (_takes_numbers, _know_numbers),
)
