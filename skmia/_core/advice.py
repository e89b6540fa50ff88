"""Advice for errors of other libraries about records that a model does not accept."""

import re
from contextlib import contextmanager

import numpy as np
from sklearn.pipeline import Pipeline

from .containers import in_memory, is_frame, is_tensor
from .numbers import show

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
_MOST_COLUMNS = 3
# Errors of Python and numpy if a model does not validate its input.
_LOW = (TypeError, OverflowError, IndexError, KeyError, ZeroDivisionError)
# Packages that know arrays and no models of users.
_BELOW = {"numpy", "scipy", "pandas", "torch", "skorch"}
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
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise kind(f"{type(model).__name__} cannot take these records: {reason}") from error


def _is_low(error):
    """Return whether an error is about the inside of a model, not about its records."""
    if isinstance(error, RuntimeError):  # of torch, such as shapes that cannot be multiplied
        return "out of memory" not in str(error)
    if type(error) is ValueError and _get_package(error) in _BELOW:
        return True
    return isinstance(error, _LOW) or bool(_LOW_TEXT.search(str(error)))


def _get_package(error):
    """Package of the code that raised an error."""
    where = error.__traceback__
    while where.tb_next is not None:
        where = where.tb_next
    return where.tb_frame.f_globals.get("__name__", "").partition(".")[0]


def get_advice(error, model, X):
    """What to do about an error that a model raised about records; None if nothing is known."""
    text = _TEXT.search(str(error))
    if text:
        return _advise_on_text(text["value"], X)
    category = _CATEGORY.search(str(error))
    if category:
        return _advise_on_categories(model, category["value"], X)
    if _VALIDATION.search(str(error)):
        return (
            f"{type(model).__name__} stops early and lacks the parameter eval_set of fit, its "
            f"validation rows ({str(error).strip()}). ShadowPool(fit_params=f) takes a function "
            "f(X, y) that splits them off the records of each model."
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
    names = [name for name, column in _text_columns(X) if any(map(_is_text, column.tolist()))]
    kind = type(model).__name__
    return (
        f"{kind} takes the columns {show(names)} of X for numbers, and they hold text such as "
        f"{value!r}. Name them where the model was told so: in its constructor, "
        f"{kind}(cat_features={show(names)}), which also holds for models on the command line, or "
        f"for fit by ShadowPool(fit_params={{'cat_features': {show(names)}}}), which audit takes "
        "as well."
    )


def _is_text(cell):
    return isinstance(cell, str)


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
