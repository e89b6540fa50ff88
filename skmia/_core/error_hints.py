"""Advice for errors of other libraries about records that a model does not accept."""

import re
from contextlib import contextmanager

import numpy as np
from sklearn.pipeline import Pipeline

from .containers import in_memory, is_frame, is_tensor
from .foreign_words import name_package, say_plainly
from .numbers import show
from .sklearn import InvalidParameterError

# Pattern of the text that scikit-learn and numpy quote when they cannot read it.
_TEXT = re.compile(
    r"could not convert string to float: (?:np\.str_\()?(?P<value>'[^']*'|\"[^\"]*\")"
)
# Torch: "mat1 and mat2 must have the same dtype", "expected scalar type Float but found Double",
# "Input type (double) and bias type (float) should be the same".
_DTYPE = re.compile(r"same dtype|scalar type|type \(.*\) and .* type \(.*\) should be the same")
# XGBoost: "Must have at least 1 validation dataset for early stopping."; LightGBM: "For early
# stopping, at least one dataset and eval metric is required for evaluation".
_VALIDATION = re.compile(r"at least (1|one) (validation )?dataset", re.IGNORECASE)
# CatBoost: 'Bad value for num_feature[non_default_doc_idx=0,feature_idx=2]="yes": Cannot convert'.
_CATEGORY = re.compile(r'Bad value for num_feature\[.*?\]="(?P<value>.*?)"')
# Scikit-learn: "Input X contains NaN.", "Input X contains infinity or a value too large for ...";
# XGBoost: "Input data contains `inf` or a value too large, while `missing` is not set to `inf`".
_MISSING = re.compile(r"contains NaN|missing values|contains missing", re.IGNORECASE)
_INFINITE = re.compile(r"infinity|`inf`|\binf\b|too large for", re.IGNORECASE)
# Scikit-learn: "Found unknown categories ['maybe'] in column 0 during transform"; XGBoost: "Found a
# category not in the training set for the 0th (0-based) column: `maybe`".
_UNKNOWN = re.compile(
    r"unknown (?:category|categories)|category not in the training set", re.IGNORECASE
)
_IN_COLUMN = re.compile(r"in column (?P<a>\d+)|for the (?P<b>\d+)(?:st|nd|rd|th)")
_QUOTED = re.compile(r"\[(?P<listed>[^\]]*)\] in column|column: `(?P<value>[^`]*)`")
# XGBoost: "DataFrame.dtypes for data must be int, float, bool or category. ... Invalid columns:x:
# str"; LightGBM: "pandas dtypes must be int, float or bool. Fields with bad pandas dtypes: x: str".
_BAD_TYPE = re.compile(
    r"(?:Invalid columns|Fields with bad pandas dtypes): ?(?P<columns>.+)", re.DOTALL
)
# LightGBM: "train and valid dataset categorical_feature do not match."
_CATEGORIES_DIFFER = re.compile(r"categorical_feature do not match")
# Splitters of scikit-learn that divide rows by groups.
_GROUPS = re.compile(r"'groups' parameter should not be None")
# torch: "Expected more than 1 value per channel when training, got input size torch.Size([1, 32])".
_ONE_ROW = re.compile(r"more than 1 (?:value per channel|spatial element) when training.*\[1, ")
# torch: "Tried to step 61 times. The specified number of total steps is 60".
_SCHEDULE = re.compile(r"Tried to step \d+ times.*total steps is (?P<n>\d+)")
# Scikit-learn: "The container does not have a registered adapter in scikit-learn. Available ..."
_CONTAINER = re.compile("registered adapter in scikit-learn")
_MOST_COLUMNS = 3
# Errors of Python and numpy if a model does not validate its input.
_LOW = (TypeError, OverflowError, IndexError, KeyError, ZeroDivisionError)
# Packages that know arrays and no models of users.
_BELOW = {"numpy", "scipy", "pandas", "torch", "skorch"}
# Packages of tables and arrays, which steps of users may take in one form alone.
_OF_ROWS = {"numpy", "pandas", "polars", "pyarrow", "scipy"}
_LOW_TEXT = re.compile(
    "could not convert|setting an array element|inhomogeneous|is ambiguous|unique column"
)


@contextmanager
def with_advice(model, X):
    """Turn a model's error about unusable records into an error that says what to do."""
    try:
        yield
    except Exception as error:
        advice = get_advice(error, model, X)
        if advice is not None:
            raise ValueError(advice) from error
        if not _is_low(error):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = say_plainly(f"{type(error).__name__}: {error}")
        raise kind(f"{type(model).__name__} cannot take these records: {reason}") from error


def _is_low(error):
    """Return whether an error is about the inside of a model, not about its records."""
    if isinstance(error, InvalidParameterError) or name_package(error) == "skmia":
        return False  # such errors say themselves what is wrong
    if isinstance(error, RuntimeError):  # of torch, such as shapes that cannot be multiplied
        return "out of memory" not in str(error)
    if type(error) is ValueError and name_package(error) in _BELOW:
        return True
    return isinstance(error, _LOW) or bool(_LOW_TEXT.search(str(error)))


def _is_about_rows(error):
    """Return whether an attribute is missing in rows or columns, and not in a model."""
    package = type(getattr(error, "obj", None)).__module__.partition(".")[0]
    return package in _OF_ROWS or "accessor" in str(error)


# What to do about errors that say themselves what they are about.
_ADVICE = (
    (
        _CATEGORIES_DIFFER,
        "{model} was trained with columns of categories, and X has others. Give each column the "
        "type that it had when the model was trained.",
    ),
    (
        _CONTAINER,
        "{model} takes tables of pandas or polars, and these are of another package. Give a table "
        "of pandas, such as X.to_pandas().",
    ),
    (
        _VALIDATION,
        "{model} stops early and lacks the parameter eval_set of fit, its validation rows "
        "({said}). ShadowPool(fit_params=f) and audit(fit_params=f) take a function f(X, y) that "
        "splits them off the records of each model; on the command line, --validation names a "
        "table of them. "
        "Elsewhere, give it a fixed number of rounds and no early stopping.",
    ),
    (
        _GROUPS,
        "{model} divides its rows by groups, which its fit lacks. ShadowPool(fit_params=f) and "
        "audit(fit_params=f) take a function f(X, y) that makes {{'groups': ...}} of columns of X. "
        "Of a search, audit the model that it has chosen, best_estimator_.",
    ),
    (
        _SCHEDULE,
        "The schedule of the net ends after {n} steps, as many as the batches of another training "
        "set; that of a shadow model has more. Count epochs in place of batches: "
        "LRScheduler(..., total_steps=<max_epochs>, step_every='epoch').",
    ),
    (
        _ONE_ROW,
        "The last batch of an epoch has one row, which batch normalization does not take. Give the "
        "net iterator_train__drop_last=True, or another batch_size.",
    ),
)


def get_advice(error, model, X):
    """Return what to do about an error that a model raised about records.

    None if nothing is known.
    """
    said = str(error)
    text = _TEXT.search(said)
    if text:
        return _advise_on_text(text["value"], X)
    category = _CATEGORY.search(str(error))
    if category:
        return _advise_on_categories(model, category["value"], X)
    for pattern, is_bad, what in (
        (_MISSING, np.isnan, "missing values (NaN)"),
        (_INFINITE, np.isinf, "infinite numbers (inf)"),
    ):
        if pattern.search(said) and (advice := _advise_on_numbers(is_bad, what, X)):
            return advice
    if _UNKNOWN.search(said):
        return _advise_on_unknown(said, X)
    types = _BAD_TYPE.search(said)
    if types:
        return _advise_on_types(types["columns"].strip(), model)
    for pattern, advice in _ADVICE:
        if found := pattern.search(said):
            return advice.format(model=type(model).__name__, said=said.strip(), **found.groupdict())
    if isinstance(error, AttributeError) and _is_about_rows(error):
        given = getattr(error, "obj", None)
        form = ", such as X.to_pandas()" if hasattr(given, "to_pandas") else ""
        return (
            f"{type(model).__name__} cannot answer: {say_plainly(said)}. Give the rows and columns "
            f"in the types that they had in training{form}."
        )
    if isinstance(error, AttributeError) and name_package(error) != "skmia":
        return (
            f"{type(model).__name__} cannot answer: {say_plainly(said)}. It is damaged, or was "
            "saved with another version of its package; install that version, or save it again."
        )
    if isinstance(error, RuntimeError) and _DTYPE.search(str(error)):
        return _advise_on_dtype(model, X)
    return None


def _advise_on_text(quoted, X):
    value = quoted[1:-1]
    names = [repr(name) for name, column in _text_columns(X) if _holds(column, value)]
    if not names:
        return None
    more = f" and {len(names) - _MOST_COLUMNS} others" if len(names) > _MOST_COLUMNS else ""
    where = f"column{'s' if len(names) > 1 else ''} {', '.join(names[:_MOST_COLUMNS])}{more}"
    return (
        f"The model takes numbers, but {where} of X {'hold' if len(names) > 1 else 'holds'} "
        f"text such as {value!r}. Encode it, for example with a OneHotEncoder in a Pipeline, or "
        "leave it out."
    )


def _advise_on_categories(model, value, X):
    names = [name for name, column in _text_columns(X) if any(map(_is_text_cell, column.tolist()))]
    kind = type(model).__name__
    return (
        f"{kind} takes the columns {show(names)} of X for numbers, and they hold text such as "
        f"{value!r}. Name them where the model was told so: in its constructor, "
        f"{kind}(cat_features={show(names)}), which also holds for models on the command line, or "
        f"for fit by ShadowPool(fit_params={{'cat_features': {show(names)}}}), which audit takes "
        "as well."
    )


def _is_text_cell(cell):
    return isinstance(cell, str)


_CURES = {
    "missing values (NaN)": "Impute them, for example by a SimpleImputer in a Pipeline, or leave "
    "out",
    "infinite numbers (inf)": "Replace them, or leave out",
}


def _advise_on_numbers(is_bad, what, X):
    """Name the columns with numbers that a model does not take."""
    X = in_memory(X)
    if is_tensor(X) or getattr(X, "ndim", 0) != 2 or not hasattr(X, "shape"):
        return None
    names = X.columns if is_frame(X) else range(X.shape[1])
    found = []
    for j, name in enumerate(names):
        column = X.iloc[:, j] if is_frame(X) else X[:, [j]]
        column = column.toarray() if hasattr(column, "toarray") else column
        try:
            values = np.asarray(column, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            continue
        if (bad := is_bad(values)).any():
            found.append((name, int(bad.sum()), int(bad.argmax())))
    if not found:
        return None
    name, n_bad, first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"The model takes no {what}, and column {name!r}{more} of X holds {n_bad} of them, first "
        f"in row {first + 1}. {_CURES[what]} the column{'s' if more else ''} or the records."
    )


def _advise_on_unknown(said, X):
    """Name a category that a model has not seen, with its column."""
    place, quoted = _IN_COLUMN.search(said), _QUOTED.search(said)
    shown = "" if quoted is None else f" {quoted['listed'] or repr(quoted['value'])}"
    where = ""
    if place is not None:
        j = int(place["a"] or place["b"])
        # An encoder counts the columns that it was given, a booster those of the table.
        names = [str(name) for name in X.columns] if is_frame(X) else []
        holding = [
            name for name, column in _text_columns(X) if any(f"{cell}" in shown for cell in column)
        ]
        name = holding[0] if len(holding) == 1 else names[j] if place["b"] and names else j
        where = f" in column {name!r}"
    return (
        f"The model does not know the categories{shown}{where}, which were not in the rows that "
        "it was trained on. Check their spelling and spaces, or leave these records out; an "
        'encoder in a Pipeline takes them with handle_unknown="ignore".'
    )


def _advise_on_types(columns, model):
    shown = ", ".join(part.strip() for part in columns.split(",")[:_MOST_COLUMNS])
    names = re.sub(r"\s*:\s*(?:str|string|object|datetime64\S*)", "", shown)
    return (
        f"{type(model).__name__} takes numbers and categories, and these columns of X hold text or "
        f"dates: {names}. Give them the type that they had when the model was trained, or leave "
        "them out."
    )


def _text_columns(X):
    """Name and values of each column that can hold text."""
    X = in_memory(X)
    if is_frame(X):
        kinds = zip(X.columns, (X.iloc[:, j] for j in range(X.shape[1])), strict=True)
        return [(name, np.asarray(column, dtype=object)) for name, column in kinds]
    if is_tensor(X) or getattr(getattr(X, "dtype", None), "kind", None) not in ("O", "U", "S"):
        return []
    if X.ndim != 2:
        return []
    return [(j, X[:, j]) for j in range(X.shape[1])]


def _holds(column, value):
    return any(isinstance(cell, str) and cell == value for cell in column.tolist())


def _advise_on_dtype(model, X):
    net = model
    while hasattr(net, "steps") or hasattr(net, "estimator"):
        net = net.steps[-1][1] if isinstance(net, Pipeline) else net.estimator
    module = getattr(net, "module_", None)
    parameter = next(iter(module.parameters()), None) if hasattr(module, "parameters") else None
    if parameter is None:
        return None
    wanted = str(parameter.dtype).removeprefix("torch.")
    given = str(getattr(X, "dtype", "")).removeprefix("torch.")
    if given and given != wanted:
        how = f"X.to(torch.{wanted})" if is_tensor(X) else f"X.astype({wanted!r})"
        return (
            f"The weights of the net are {wanted} and the records {given}. Convert the records: "
            f"Records({how}, y)."
        )
    return (
        f"The weights of the net are {wanted}, and the steps before it return another type. Add a "
        f"step FunctionTransformer(np.{wanted}) before the net."
    )
