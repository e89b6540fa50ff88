"""Sample weights of records, and how they reach the fit of an estimator."""

from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .numbers import show, to_array
from .query import trained_as, unwrap
from .writers import drop_writers_of_fit

# Field of the records, and parameter of fit.
WEIGHTS = "sample_weight"


def read_weights(records):
    """Return the sample weights of records, or None."""
    if WEIGHTS not in records.fields:
        return None
    must = "hold one finite number of 0 or more for each record"
    name = f"The field {WEIGHTS!r} of the records"
    weights = to_array(records[WEIGHTS], name, must)
    if weights.dtype.kind not in "biuf" or weights.shape != (len(records),):
        got = f"an array of {weights.dtype} of shape {weights.shape}"
        raise ValueError(f"{name} must {must}; got {got}.")
    weights = weights.astype(np.float64)
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        raise ValueError(f"{name} must {must}; got {weights[wrong][0]}.")
    return weights


def name_parameter(estimator):
    """Return the parameter of an estimator's fit that takes sample weights, or None."""
    if requests_weights(estimator):
        return WEIGHTS
    if sklearn.get_config()["enable_metadata_routing"]:
        return None
    estimator = trained_as(estimator)
    if isinstance(estimator, Pipeline) and estimator.steps:
        step, last = estimator.steps[-1]
        inner = None if isinstance(last, str) or last is None else name_parameter(unwrap(last))
        return None if inner is None else f"{step}__{inner}"
    return WEIGHTS if has_fit_parameter(estimator, WEIGHTS) else None


def requests_weights(estimator):
    """Return whether an estimator, or a part of it, requests sample weights by metadata routing."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(_requests(part) for part in parts if hasattr(part, "get_metadata_routing"))


def _requests(part):
    try:
        requests = part.get_metadata_routing().fit.requests
    except Exception:  # a class, or a composite, whose parts are checked separately
        return False
    return requests.get(WEIGHTS) not in (None, False)


def weights_for(estimator, records):
    """Return the sample weights of records that the fit of an estimator takes, or None."""
    weights = read_weights(records)
    return None if weights is None or name_parameter(estimator) is None else weights


def mark_trained(estimator, records):
    """Return which records, or records that equal them, have a weight above 0; None for all.

    The fit of the estimator does not train on the others, if it takes weights at all.
    """
    weights = weights_for(estimator, records)
    if weights is None or (weights > 0).all():
        return None
    if not (weights > 0).any():
        raise ValueError(
            f"{WEIGHTS} must be above 0 for some records, which models are trained on; all "
            f"{len(weights)} are 0."
        )
    return np.isin(records.fingerprint, records.fingerprint[weights > 0])


def find_given_weights(estimator, fit_params):
    """Return the sample weights that parameters of fit give the model, or a last step, or None."""
    name, owner = WEIGHTS, unwrap(estimator)
    while name not in fit_params and (isinstance(owner, Pipeline) or hasattr(owner, "estimator")):
        if isinstance(owner, Pipeline):
            step, inner = owner.steps[-1]
            name = f"{name.removesuffix(WEIGHTS)}{step}__{WEIGHTS}"
        else:  # such as a search, which passes on what it is given
            inner = owner.estimator
        owner = unwrap(inner)
    return fit_params.get(name)


# Parameters of fit with a value for each row, also those of boosters.
_OF_ROWS = {WEIGHTS, "base_margin", "baseline", "groups", "init_score", "qid"}


def refuse_row_parameters(fit_params):
    """Refuse values for the rows of one training set, where each model that is trained has others.

    Those of another set of the same size would be taken without an error.
    """
    if not isinstance(fit_params, Mapping):
        return
    for name, value in fit_params.items():
        own = name.rpartition("__")[2]
        if own in _OF_ROWS and value is not None and np.ndim(value) > 0:
            cure = (
                "put them into the field 'sample_weight' of the records, of which each model gets "
                "its own"
                if own == WEIGHTS
                else f"pass a function f(X, y) that makes {{{name!r}: ...}} of the rows of a model"
            )
            raise ValueError(
                f"fit_params has {name!r} with a value for each row, and each model that is "
                f"trained here has other rows; {cure}."
            )


def fit_weighted(model, X, y, weights, fit_params=None):
    """Fit a model, with sample weights unless they are None, and with further parameters."""
    given = fit_params(X, y) if callable(fit_params) else fit_params or {}
    if not isinstance(given, Mapping):
        raise TypeError(f"fit_params must give a dict of parameters of fit; got {show(given)}.")
    given = drop_writers_of_fit(model, dict(given))
    name = None if weights is None else name_parameter(model)
    gives_rows = not given.keys().isdisjoint({"X", "y"})
    if name is not None and gives_rows and not {"X", "y", name} <= given.keys():
        raise ValueError(
            f"fit_params gives other rows of records that have the field {WEIGHTS!r}; let it give "
            f"X, y and {name}."
        )
    if name is not None:
        given.setdefault(name, weights)
    with routing_requests(model if name is not None else None):
        return model.fit(given.pop("X", X), given.pop("y", y), **given)


@contextmanager
def routing_requests(estimator):
    """Enable metadata routing while an estimator is fitted that requests sample weights.

    Requests can be set only where routing is enabled. Worker processes do not know that it is.
    """
    if estimator is None or not requests_weights(estimator):
        yield
    else:
        with sklearn.config_context(enable_metadata_routing=True):
            yield
