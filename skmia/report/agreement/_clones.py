"""Clones of a model, or stand-ins, that are each trained on one half of the members."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from ..._core.asking import query_victim, unwrap
from ..._core.skorch_nets import is_skorch
from ..._core.splits import compute_strata, draw_halves
from ...victims import is_trainable
from .._case import StoredAnswers, is_recipe, train_victim
from .._pace import ModelPace, Stopwatch, tell_pace
from .._stand_in import list_kinds, refuse_no_table
from ._answered_rows import ClonedAnswers
from ._skill import AnswerScores

# Members in each half, below which nothing is trained.
_FEWEST = 5


class CloneRecipe(NamedTuple):
    """What is trained in place of a model."""

    name: str  # of its models in a sentence, without their number
    estimator: object
    is_own: bool


def list_recipes(case):
    """The recipe of the model, or two stand-ins: a linear model and a forest."""
    request, victim = case.request, case.request.victim
    is_stored = is_recipe(victim) and not isinstance(victim, StoredAnswers)
    if is_stored or (is_trainable(unwrap(victim)) and request.estimator is None):
        return [CloneRecipe("clone", request.model, True)]
    try:
        refuse_no_table(case.records)
        kinds = list_kinds(case.records, request.outputs)
    except ValueError:
        kinds = []
    wanted = (LogisticRegression, Ridge), (RandomForestClassifier, RandomForestRegressor)
    names = "linear model", "forest"
    found = []
    for name, classes in zip(names, wanted, strict=True):
        kind = next((one for one in kinds if isinstance(_find_last(one), classes)), None)
        found += [] if kind is None else [CloneRecipe(name, kind, False)]
    if not found and request.estimator is not None:
        found = [CloneRecipe(type(_find_last(request.model)).__name__, request.model, False)]
    return found


def _find_last(model):
    while isinstance(model, Pipeline):
        model = model[-1]
    return unwrap(model)


def is_costly(recipes):
    """Whether one model takes so long that only one of a pair is trained, after all else."""
    return any(is_skorch(_find_last(one.estimator)) for one in recipes)


def train_clones(met, recipe, n_models):
    """Train models on one half of the members each, and ask them for all rows."""
    rng = np.random.default_rng(met.case.seeds["agreement"])
    members = np.flatnonzero(met.inside)
    _, units = np.unique(met.units[members], return_inverse=True)
    if units.max(initial=0) + 1 < 2 * _FEWEST:
        raise ValueError("there are too few members")
    strata = compute_strata(met.records.y[members], not met.is_value)
    halves = draw_halves(units, strata, len(members), rng)
    others = np.flatnonzero(~met.inside)
    part_of_other = rng.permutation(len(others)) % n_models
    n = len(met.inside)
    fresh, seen, models, paces = None, None, [], []
    is_fresh, is_seen = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for k in range(n_models):
        inside = np.zeros(n, dtype=bool)
        inside[members[halves[k]]] = True
        if not met.is_value and len(np.unique(met.truth[inside])) < 2:
            raise ValueError("all members of a half have one label")
        seed = int(rng.integers(np.iinfo(np.int32).max))
        model, scores, pace = _train_and_time(met, recipe, inside, seed)
        paces.append(pace)
        if recipe.is_own:
            tell_pace(met.case, pace)
        if fresh is None:
            fresh, seen = (
                AnswerScores(
                    np.zeros_like(scores.values),
                    None if scores.predicted is None else np.zeros_like(scores.predicted),
                )
                for _ in range(2)
            )
        own = np.zeros(n, dtype=bool)
        own[members[~halves[k]]] = True
        own[others[part_of_other == k]] = True
        _put(fresh, scores, own)
        _put(seen, scores, inside)
        is_fresh |= own
        is_seen |= inside
        models.append(model)
    count = {1: "a", 2: "two"}[n_models]
    name = f"{count} {recipe.name}{'s' if n_models > 1 else ''}"
    # The first model may have loaded what it needs.
    pace = min(paces, key=lambda one: one.fit_seconds + one.answer_seconds)
    return ClonedAnswers(name, models, fresh, is_fresh, seen, is_seen, recipe, pace)


def _put(scores, new, rows):
    scores.values[rows] = new.values[rows]
    if scores.predicted is not None:
        scores.predicted[rows] = new.predicted[rows]


def train_and_ask(met, recipe, inside, seed):
    """A model trained on some rows, and its answers for all of them."""
    return _train_and_time(met, recipe, inside, seed)[:2]


def _train_and_time(met, recipe, inside, seed):
    """The same with the seconds that both took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the shadow models warn again
        given = met.case.request.fit_params if recipe.is_own else None
        watch = Stopwatch()
        model = train_victim(recipe.estimator, met.records, inside, seed, given)
        fit = watch.lap()
        answers = query_victim(model, met.records.X)
        took = fit, watch.lap()
    pace = ModelPace(*took, int(inside.sum()), len(met.records), load=watch.load)
    return model, met.read(answers), pace
