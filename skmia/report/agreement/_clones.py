"""Clones of a model, or stand-ins, that are each trained on one half of the members."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from ..._core.provenance import LapWatch
from ..._core.query import get_last_step, query_victim, unwrap
from ..._core.skorch_nets import is_skorch
from ..._core.splits import compute_strata, draw_halves
from ...victims import is_trainable
from .._case import StoredAnswers, is_recipe, train_victim
from .._pace import ModelPace, tell_pace
from .._surrogate import list_kinds, refuse_no_table
from ..checks._drift import fit_labels
from ._answered_rows import ClonedAnswers, HalfModel
from ._skill import AnswerScores

# Members in each half, below which nothing is trained.
_FEWEST = 5


class CloneRecipe(NamedTuple):
    """What is trained in place of a model."""

    name: str  # of its models in a sentence, without their number
    estimator: object
    is_own: bool


def list_recipes(case):
    """Return the recipe of the model, or two stand-ins: a linear model and a forest."""
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
        kind = next((one for one in kinds if isinstance(get_last_step(one), classes)), None)
        found += [] if kind is None else [CloneRecipe(name, kind, False)]
    if not found and request.estimator is not None:
        found = [CloneRecipe(type(get_last_step(request.model)).__name__, request.model, False)]
    return found


def is_costly(recipes):
    """Return whether one model takes so long that only one of a pair is trained, after all else."""
    return any(is_skorch(get_last_step(one.estimator)) for one in recipes)


def train_clones(met, recipe, n_models):
    """Train models on one half of the members each, at most so many, and ask them for all rows.

    The second one is left out if the first leaves no doubt.
    """
    rng = np.random.default_rng(met.case.seeds["agreement"])
    members = np.flatnonzero(met.inside)
    _, units = np.unique(met.units[members], return_inverse=True)
    if units.max(initial=0) + 1 < 2 * _FEWEST:
        raise ValueError("there are too few members")
    strata = compute_strata(met.records.y[members], not met.is_value)
    halves = draw_halves(units, strata, len(members), rng)
    others = np.flatnonzero(~met.inside)
    part_of_other = rng.permutation(len(others)) % n_models
    n, found = len(met.inside), []
    for k in range(n_models):
        inside = np.zeros(n, dtype=bool)
        inside[members[halves[k]]] = True
        if not met.is_value and len(np.unique(met.truth[inside])) < 2:
            raise ValueError("all members of a half have one label")
        seed = int(rng.integers(np.iinfo(np.int32).max))
        found.append(_time_clone(met, recipe, inside, seed))
        if recipe.is_own:
            tell_pace(met.case, found[-1].pace)
        is_new = np.zeros(n, dtype=bool)
        is_new[members[~halves[k]]] = True
        if k == 0 and n_models > 1 and _leaves_no_doubt(met, found[0].scores, inside, is_new):
            part_of_other[:] = 0
            break
    return _join(met, recipe, found, members, halves, others, part_of_other)


def _leaves_no_doubt(met, scores, inside, is_new):
    """Whether a model knows its rows better than a clone new ones, and as well as it its own."""
    model, seen, fresh = met.fit(), met.measure(scores, inside), met.measure(scores, is_new)
    knows_more = model.rank.low > fresh.rank.value and model.decision.low > fresh.decision.value
    pairs = (model.decision, seen.decision), (seen.decision, model.decision)
    is_alike = all(one.low > 0.5 * other.value for one, other in pairs)
    return knows_more and is_alike and fresh.rank.low > 0


def _join(met, recipe, found, members, halves, others, part_of_other):
    """Put together what each clone answers for rows that it has seen and has not seen."""
    n, fresh, seen = len(met.inside), found[0].scores.make_empty(), found[0].scores.make_empty()
    is_fresh, is_seen = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for k, one in enumerate(found):
        own = np.zeros(n, dtype=bool)
        own[members[~halves[k]]] = True
        own[others[part_of_other == k]] = True
        _put_scores(fresh, one.scores, own)
        _put_scores(seen, one.scores, one.inside)
        is_fresh |= own
        is_seen |= one.inside
    count = {1: "a", 2: "two"}[len(found)]
    name = f"{count} {recipe.name}{'s' if len(found) > 1 else ''}"
    # The first model may have loaded what it needs.
    pace = min((one.pace for one in found), key=lambda one: one.fit_seconds + one.answer_seconds)
    kept = [one for one in found if recipe.is_own and one.fits is not None]
    half_models = [HalfModel(one.inside, one.fits) for one in kept]
    models = [one.model for one in found]
    return ClonedAnswers(name, models, half_models, fresh, is_fresh, seen, is_seen, recipe, pace)


def _put_scores(scores, new, rows):
    scores.values[rows] = new.values[rows]
    if scores.predicted is not None:
        scores.predicted[rows] = new.predicted[rows]


class _ClonedQuestion(NamedTuple):
    """A model that was trained on some rows and asked for all of them."""

    model: object
    inside: np.ndarray  # (n,), dtype bool: its training rows
    scores: AnswerScores
    fits: np.ndarray | None  # (n,): how well it predicts each record; None if that is not told
    pace: ModelPace


def train_and_ask(met, recipe, inside, seed):
    """Return a model trained on some rows, and its answers for all of them."""
    asked = _time_clone(met, recipe, inside, seed)
    return asked.model, asked.scores


def _time_clone(met, recipe, inside, seed):
    """Return the same with the seconds that both took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the shadow models warn again
        given = met.case.request.fit_params if recipe.is_own else None
        watch = LapWatch()
        model = train_victim(recipe.estimator, met.records, inside, seed, given)
        fit = watch.lap()
        answers = query_victim(model, met.records.X)
        took = fit, watch.lap()
        fits = fit_labels(answers, met.records.y) if isinstance(met.rows, slice) else None
    pace = ModelPace(*took, int(inside.sum()), len(met.records), load=watch.load)
    return _ClonedQuestion(model, inside, met.read(answers), fits, pace)
