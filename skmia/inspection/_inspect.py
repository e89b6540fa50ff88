"""Inspection of a fitted model as a file."""

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .._core.asking import unwrap
from .._core.records import Records
from ..victims import read_state
from ..victims.node_equations import has_node_equations
from ..victims.offers import get_access, has_file
from ._candidates import search_candidates
from ._families import BY_KIND, CHANGES_OF_KIND, LEVEL_OF_KIND, LEVELS, find_family
from ._result import Finding, ModelInspection
from ._rows import count_training_rows
from ._stored import generalize, get_strongest, list_owned_arrays, make_frame, name_place


def inspect_model(model: object, records: Records | None = None) -> ModelInspection:
    """List what a fitted model stores of its training rows, with advice.

    A model that is handed over as a file tells more than one that answers queries. The inspection
    reads the state that a file of the model would hold, says what each part of it gives away and
    what would change it, and searches candidate records in it if there are any. It makes no query
    for a prediction and trains nothing.

    Parameters
    ----------
    model : fitted estimator
        Classifier, regressor, transformer, Pipeline or other estimator, or a
        :class:`~sklearn.frozen.FrozenEstimator` of one.
    records : Records of n records, default=None
        Candidates that may have been training rows, with X as the model takes it.
        :class:`~skmia.attacks.StoredValuesAttack` looks for their rows and values, and
        :class:`~skmia.attacks.NodeEquationsAttack` is fitted on them if it reads the model.

    Returns
    -------
    inspection : ModelInspection
        ``print(inspection)`` is a summary, ``inspection.to_frame()`` lists what is stored.

    Raises
    ------
    TypeError
        If the model is a function or service, whose file is not at hand.
    NotFittedError
        If the model is not fitted.
    ValueError
        If the records cannot be searched in it.

    See Also
    --------
    skmia.victims.read_state : Lists all stored arrays, each on its own.
    skmia.attacks.StoredValuesAttack : Says of each record where it was found.
    skmia.attacks.NodeEquationsAttack : Scores each record by what the nodes of trees count.

    Notes
    -----
    What is stored is told from the names of attributes and the kinds of estimators. An estimator of
    another package is described by the names of its attributes alone, and training data that it
    keeps under an unusual name are listed as ``"other"``; candidates are looked for there as well.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skmia.inspection import inspect_model
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> inspection = inspect_model(KNeighborsClassifier().fit(X, X[:, 0] > 0))
    >>> inspection.level, inspection.n_rows
    ('rows', 50)
    >>> print(inspection)
    Inspection of KNeighborsClassifier
    The file holds training rows.
    At least 50 training rows, as the file states.
    ...
    >>> inspection.to_frame()[["path", "kind", "shape"]].head(1)
         path  kind    shape
    0  _fit_X  rows  (50, 3)
    """
    model = unwrap(model)
    _check_model(model)
    state = read_state(model)
    owned = list_owned_arrays(state)
    findings = _list_findings(owned, state.estimators)
    return ModelInspection(
        model=_describe(model),
        n_rows=count_training_rows(owned, state.estimators),
        level=get_strongest({one.level for one in findings}),
        findings=findings,
        stored=make_frame(owned),
        unread=state.unread,
        candidates=None if records is None else search_candidates(model, records),
    )


def _check_model(model):
    name = type(model).__name__
    if not has_file(model):
        raise TypeError(f"An inspection reads the file of a model; {name} has none.")
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted estimator; got {name}.")
    if not _is_fitted(model):
        raise NotFittedError(f"model must be fitted; this {name} is not.")


def _describe(model):
    steps = getattr(model, "steps", None)
    name = type(model).__name__
    if not isinstance(steps, list):
        return name
    return f"{name}({', '.join(_describe(step[1]) for step in steps)})"


def _list_findings(owned, estimators):
    """Findings on the estimators that own arrays, alike ones together."""
    kinds = {}
    for one in owned:
        if one.owner is not None:
            kinds.setdefault(one.owner.path, set()).add(one.kind)
    groups = {}
    for one in estimators:
        family = find_family(one.estimator)
        tells = kinds.get(one.path, set()) & BY_KIND.keys()
        if one.path in kinds and (family is not None or tells) and _is_fitted(one.estimator):
            key = generalize(one.path), type(one.estimator).__name__
            groups.setdefault(key, []).append((one, tells))
    findings = [
        _make_finding(
            name_place(path, [one.path for one, _ in some]),
            [one.estimator for one, _ in some],
            set().union(*(tells for _, tells in some)),
        )
        for (path, _), some in groups.items()
    ]
    return tuple(sorted(findings, key=lambda one: LEVELS.index(one.level)))


def _is_fitted(estimator):
    """Whether an estimator has learned anything; parameters hold some that have not."""
    if not isinstance(estimator, BaseEstimator):
        return True
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _make_finding(path, estimators, kinds):
    family, name = find_family(estimators[0]), type(estimators[0]).__name__
    if family is None:
        levels, stores, changes = set(), "", ()
        told = [kind for kind in BY_KIND if kind in kinds]
    else:
        levels, stores, changes = {family.level}, family.stores, family.changes
        # What depends on the fit, and is not in the sentence on the family.
        told = [kind for kind in ("targets", "per-record") if kind in kinds]
        told = [] if family.level == "rows" else told
    stores = " ".join([stores, *(BY_KIND[kind] for kind in told)]).strip()
    levels |= {LEVEL_OF_KIND[kind] for kind in told}
    changes = (*changes, *(change for kind in told for change in CHANGES_OF_KIND.get(kind, ())))
    attacks = _list_attacks(estimators[0], kinds)
    return Finding(path, name, len(estimators), get_strongest(levels), stores, attacks, changes)


def _list_attacks(estimator, kinds):
    """The attacks that read an estimator of these kinds of arrays, by what they need of it."""
    found = ["NodeEquationsAttack"] if has_node_equations(estimator) else []
    if kinds & {"rows", "values", "targets", "edges"}:
        found.append("StoredValuesAttack")
    if hasattr(estimator, "predict") and "gradients" in get_access(estimator)[0]:
        found.append("WhiteBoxAttack")
    return tuple(found)
