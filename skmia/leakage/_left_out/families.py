"""Which models say in closed form what they would answer without a training record."""

from typing import NamedTuple

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from ..._core.asking import unwrap
from ...victims.inputs import check_labels, find_model, read_features
from ...victims.linear_model import LinearModel
from .bags import leave_out_of_bags, why_not_bags
from .discriminant import leave_out_of_discriminant, why_not_discriminant
from .linear import leave_out_of_linear
from .neighbors import leave_out_of_neighbors, why_not_neighbors
from .processes import leave_out_of_process, why_not_process


class _Family(NamedTuple):
    """How records are left out of a kind of models, and why not of one of them."""

    method: str
    leave_out: object
    why_not: object


_BAGS = _Family("out-of-bag votes", leave_out_of_bags, why_not_bags)
_NEIGHBORS = _Family("leave-one-out", leave_out_of_neighbors, why_not_neighbors)
_EXACT, _NEWTON = "leave-one-out", "one Newton step"

_FAMILIES = {
    RandomForestClassifier: _BAGS,
    RandomForestRegressor: _BAGS,
    ExtraTreesClassifier: _BAGS,
    ExtraTreesRegressor: _BAGS,
    BaggingClassifier: _BAGS,
    BaggingRegressor: _BAGS,
    KNeighborsClassifier: _NEIGHBORS,
    KNeighborsRegressor: _NEIGHBORS,
    LinearDiscriminantAnalysis: _Family(_EXACT, leave_out_of_discriminant, why_not_discriminant),
    GaussianProcessRegressor: _Family(_EXACT, leave_out_of_process, why_not_process),
}
_LINEAR = {LinearRegression: _EXACT, Ridge: _EXACT, LogisticRegression: _NEWTON}


def leave_out(model, X, y):
    """Signals of each training record with and without it, from one fitted model.

    Parameters
    ----------
    model : fitted estimator
    X : array-like of shape (n, ...)
        All rows that it was fitted on, in their order.
    y : array-like of shape (n,)
        Their labels.

    Returns
    -------
    sides : Sides
    method : str
        How the answers without the record were found.

    Raises
    ------
    TypeError
        If no such formula is known for this kind of model.
    ValueError
        If it does not hold with the settings of this one.
    """
    found, steps = find_model(unwrap(model))
    if type(found) in _LINEAR:
        linear = LinearModel(unwrap(model))
        linear.check()
        return leave_out_of_linear(linear, *linear.read(X, y)), _LINEAR[type(found)]
    family = _FAMILIES.get(type(found))
    if family is None:
        names = ", ".join(sorted(kind.__name__ for kind in (*_FAMILIES, *_LINEAR)))
        raise TypeError(
            f"Records are left out in closed form of {names}, also at the end of a Pipeline; got "
            f"{type(unwrap(model)).__name__}."
        )
    why = family.why_not(found, len(y))
    if why is not None:
        raise ValueError(f"No record can be left out of this {type(found).__name__}: {why}.")
    X = read_features(found, steps, X, role="The model has")
    return family.leave_out(found, X, check_labels(found, y)), family.method
