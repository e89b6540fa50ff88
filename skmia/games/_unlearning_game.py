"""Game between an attacker and an unlearning method, which may be one of the ready ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score

from .._core.copies import copy_unfitted
from .._core.metric_inputs import check_confidence_level, check_rate
from .._core.numbers import show
from .._core.query import query_aligned, unwrap
from .._core.randomness import isolated_randomness, spawn_seeds
from .._core.records import Records, has_column
from .._core.sample_weights import mark_trained, weights_for
from .._core.sklearn import N_JOBS, Interval, at_least, validate_arguments
from .._core.splits import number_units
from .._core.types import Seed
from .._core.validation import call_given, check_records
from .._training.job import (
    Job,
    JobData,
    KeptResults,
    recorded_warnings,
    run_visibly,
    warn_of_weights,
    warn_once,
)
from .._training.plan import plan_training
from .._training.recalled import set_recalled
from .._training.workers import use_one_job
from ..signals import COMPARED, auto_of
from ..victims import FunctionClassifier
from ._unlearning_result import (
    ATTACKS,
    BOTH,
    FORGOTTEN,
    NEVER,
    RETAINED,
    AttackSeparation,
    UnlearningResult,
    judge_unlearning,
)
from .unlearning import WAYS, Forgetting, NoUnlearning, Retraining


def draw_sides(units, forget, n_models, n_targets, seeds):
    """Draw the sides of all records for shadow models, then for target models.

    Each model is trained on a random half of the units, and a random part of the half is to be
    forgotten. Given the units that stay, the forgotten ones are a random part of all others, so an
    exact way of forgetting leaves nothing to find: no strata are kept apart. Shadow models come in
    pairs with complementary halves; target models are drawn independently.

    Return sides of shape (n_models + n_targets, n).
    """
    n_units = int(units.max()) + 1
    n_members = n_units // 2
    n_forgotten = round(forget * n_members)
    if not 2 <= n_forgotten <= n_members - 2:
        some = "" if n_units == len(units) else f" in {n_units:,} indivisible groups"
        raise ValueError(
            f"forget={forget:g} of the {n_members:,} training records of a model{some} is "
            f"{n_forgotten:,}; at least 2 must be forgotten and 2 must stay."
        )
    rng = np.random.default_rng(seeds)
    sides = np.zeros((n_models + n_targets, n_units), dtype=np.int8)
    order = np.arange(n_units)
    for k, row in enumerate(sides):
        is_partner = k % 2 and k < n_models
        order = order[::-1] if is_partner else rng.permutation(n_units)
        members = rng.permutation(order[:n_members])
        row[members] = RETAINED
        row[members[:n_forgotten]] = FORGOTTEN
    return sides[:, units]


class MeasuredUnlearning(NamedTuple):
    """How well each attack separates records, by state and attack."""

    forgotten: dict  # of each state, a dict of attacks
    retained: dict  # of the states before and after
    n_unjudged: int


def measure_unlearning(states, sides, units, n_shadows, attacks, both):
    # sides (n_all_models, n), units (n,)
    targets = sides[n_shadows:]

    def separate(name, values, side):
        scores, judged = ATTACKS[name](values, sides, n_shadows, side)
        return AttackSeparation(scores, targets, side, judged, units)

    forgotten = {}
    for state, answers in states.items():
        forgotten[state] = {name: separate(name, answers.values, FORGOTTEN) for name in attacks}
        if both:
            fall = states["before"].values - answers.values
            forgotten[state][BOTH] = separate("population", fall, FORGOTTEN)
    lead = "ulira" if "ulira" in attacks else attacks[0]
    kept = ("before", "after")
    retained = {state: separate(lead, states[state].values, RETAINED) for state in kept}
    n_unjudged = int(np.count_nonzero(~forgotten["after"][lead].judged))
    return MeasuredUnlearning(forgotten, retained, n_unjudged)


class StateAnswers(NamedTuple):
    """What all models answer in one state: before, after, or retrained."""

    values: np.ndarray  # (n_all_models, n), a signal
    scores: np.ndarray  # (n_all_models,), accuracy on records never seen


@dataclass(frozen=True)
class UnlearningPlayer:
    """Lets a model forget in several ways and keeps the signals of all records in each state.

    Shapes: sides (n_all_models, n).
    """

    ways: dict
    records: Records
    sides: np.ndarray
    seeds: list
    opens: bool = False

    def __call__(self, trained):
        """Return the signals and scores of a model in each state."""
        k, never = trained.number, self.sides[trained.number] == NEVER
        arrays, facts = {}, {"seconds": {"train": trained.seconds}}
        kind = self._note("before", trained.answers[0], never, arrays, facts)
        for (name, way), seeds in zip(self.ways.items(), self.seeds[k], strict=True):
            with recorded_warnings() as said, isolated_randomness(seeds):
                start = perf_counter()
                model = self._forget(way, trained.model, k, np.random.default_rng(seeds))
                facts["seconds"][name] = perf_counter() - start
                outputs = query_aligned(model, self.records.X, self.records.y)
            trained.warnings += [warning for warning in said if warning not in trained.warnings]
            found = self._note(name, outputs, never, arrays, facts)
            if found != kind:
                raise ValueError(
                    f"Models must answer alike before and after unlearning; got {kind} before and "
                    f"{found} after."
                )
        return KeptResults(facts, arrays)

    def _forget(self, way, model, k, rng):
        keep, forget = (np.flatnonzero(self.sides[k] == side) for side in (RETAINED, FORGOTTEN))
        if isinstance(way, Forgetting) or not self.opens:
            return _check_unlearned_model(
                _call_unlearn(way, model, self.records, keep, forget, rng)
            )
        return _wrap_forgotten(
            model, _call_unlearn(way, model.model_, self.records, keep, forget, rng)
        )

    def _note(self, name, outputs, never, arrays, facts):
        if outputs.kind not in COMPARED:
            raise ValueError(
                "An unlearning game needs models that answer with probabilities, decision values "
                f"or numbers; got {outputs.kind}."
            )
        y = self.records.y
        arrays[name] = auto_of(outputs.kind).raw(outputs, y).astype(np.float64)
        arrays[f"{name}_score"] = np.array(_score_utility(outputs, y, never))
        facts.update(kind=outputs.kind, dtype=outputs.values.dtype.str)
        return outputs.kind


def _call_unlearn(way, *arguments):
    return call_given(way, "unlearn", "f(model, records, keep, forget, rng)", *arguments)


def _wrap_forgotten(model, forgotten):
    """A classifier like the one that was trained, around what a function of users returned."""
    if forgotten is None:
        _check_unlearned_model(forgotten)
    changed = FunctionClassifier(**model.get_params(deep=False))
    vars(changed).update({**vars(model), "model_": forgotten})
    return changed


def _check_unlearned_model(model):
    if not hasattr(model, "predict"):
        raise TypeError(
            "unlearn must return the model that has forgotten the records; got "
            f"{type(model).__name__}."
        )
    return model


def _score_utility(outputs, y, rows):
    """Return the accuracy, or coefficient of determination, on some records."""
    if outputs.kind == "value":
        return r2_score(y[rows], outputs.values[rows])
    return outputs[rows].is_correct(y[rows]).mean()


def list_states(way):
    """Ways by the states that follow them, without those whose outcome is known otherwise."""
    if isinstance(way, NoUnlearning):
        return {"retrained": Retraining()}
    further = {} if isinstance(way, Retraining) else {"retrained": Retraining()}
    return {"after": way, **further}


def complete(states):
    """Add the states that equal another one: after no unlearning, and retrained."""
    after = states.get("after", states["before"])
    retrained = states.get("retrained", after)
    return {"before": states["before"], "after": after, "retrained": retrained}


def join_states(played, n_shadows):
    """Join the states of all models; infinite values are made finite by the shadow models' step."""
    first = played[0]
    names = [name for name in first.arrays if not name.endswith("_score")]
    raw = {name: np.array([kept.arrays[name] for kept in played]) for name in names}
    learned = np.concatenate([values[: n_shadows or None] for values in raw.values()])
    signal = auto_of(first.facts["kind"])
    nowhere = np.zeros(learned.shape, dtype=bool)
    smoothing = signal.fit_smoothing(learned[None], nowhere, np.dtype(first.facts["dtype"]))
    scores = {name: np.array([kept.arrays[f"{name}_score"] for kept in played]) for name in names}
    return {name: StateAnswers(smoothing(raw[name]), scores[name]) for name in names}


def check_attacks(attacks):
    """Return the names of attacks as a list, each once."""
    is_single = isinstance(attacks, str) or not np.iterable(attacks)
    names = [attacks] if is_single else list(attacks)
    if not names or not all(isinstance(name, str) and name in ATTACKS for name in names):
        raise ValueError(
            f"attacks must name one or more of {', '.join(map(repr, ATTACKS))}; got "
            f"{show(attacks)}."
        )
    return list(dict.fromkeys(names))


def check_players(train, unlearn, records, parallel):
    """Return the way of forgetting, and the estimator of all models.

    They start no workers if models are trained in parallel.
    """
    way, estimator = _choose_unlearning(unlearn), _read_estimator(train, records)
    if isinstance(way, Forgetting):
        way.validate()
        reason = way.why_not(estimator)
        if reason is not None:
            raise TypeError(f"{name(way)} cannot be played: {reason}")
        estimator = way.prepare(estimator)
    return way, use_one_job(estimator) if parallel else estimator


def name(player):
    """Return name of a way of forgetting, of a function or of an estimator, as it is printed."""
    if isinstance(player, Forgetting):
        return repr(player)
    return getattr(player, "__name__", type(unwrap(player)).__name__)


def _choose_unlearning(unlearn):
    if isinstance(unlearn, str) and unlearn in WAYS:
        return WAYS[unlearn]()
    if isinstance(unlearn, type) or not callable(unlearn):
        raise ValueError(
            f"unlearn must be one of {', '.join(map(repr, WAYS))}, an object such as "
            f"FineTuning(n_epochs=5), or a function; got {show(unlearn)}."
        )
    return unlearn


def _read_estimator(train, records):
    if isinstance(train, type) or not (callable(train) or hasattr(train, "fit")):
        is_class = isinstance(train, type)
        got = f"the class {train.__name__}, not an instance" if is_class else show(train)
        raise TypeError(f"train must be an estimator or a function train(X, y, seed); got {got}.")
    if not hasattr(train, "fit"):
        return FunctionClassifier(train, classes=np.unique(records.y))
    estimator = unwrap(train)
    return set_recalled(copy_unfitted(estimator), estimator)


_CONSTRAINTS = {
    "forget": [Interval(Real, 0, 1, closed="neither")],
    "n_estimators": [at_least(2)],
    "n_targets": [at_least(2)],
    "both": ["boolean"],
    "n_jobs": N_JOBS,
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


def unlearning_game(
    train: BaseEstimator | Callable[..., Any],
    unlearn: str | Callable[..., Any],
    records: Records,
    *,
    forget: float = 0.2,
    n_estimators: int = 64,
    n_targets: int = 16,
    attacks: Sequence[str] = ("population", "ulira"),
    both: bool = False,
    max_fpr: float = 0.01,
    confidence_level: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Seed = None,
) -> UnlearningResult:
    """Play the unlearning game, which attacks the forgotten records of models that unlearned them.

    Each model is trained on a random half of the records, and then unlearns a random part of them.
    For some of the models, the targets, attacks try to distinguish the forgotten records from the
    other half of the records, which the model has never seen. If the model is as if it had been
    trained without the forgotten records, no attack does better than chance.

    Two attacks are run. The population attack has one rule for all records: a record with a better
    answer is more likely a forgotten one. U-LiRA compares the answer for each record with two
    distributions, of shadow models that have unlearned this record in the same way, and of shadow
    models that have never seen it.

    Parameters
    ----------
    train : estimator or callable
        Estimator that is trained, Pipelines included; it is cloned, never changed. Or a function
        ``train(X, y, seed)`` that returns a model, such as a torch module with logits, as of
        :class:`~skmia.victims.FunctionClassifier`.
    unlearn : str or callable
        Unlearning method: ``"retrain"``, ``"noop"``, ``"negative"``, ``"finetune"``, ``"relabel"``,
        ``"noise"`` or ``"sisa"``, which stand for ``Retraining``, ``NoUnlearning``,
        ``NegativeWeights``, ``FineTuning``, ``Relabeling``, ``WeightNoise`` and ``SISA`` of
        :mod:`skmia.games.unlearning` with their defaults; or one of these objects; or a function
        ``unlearn(model, records, keep, forget, rng)`` that returns a model. ``model`` was trained
        on the records at the positions ``keep`` and ``forget``, int arrays, and ``rng`` is a numpy
        Generator. If ``train`` is a function, it gets and returns what ``train`` returns.
    records : Records of n records
        The population. Equal records, and records with one value of a field ``group_by``, are
        forgotten together, as in a :class:`~skmia.ShadowPool`. Records whose ``sample_weight`` is 0
        are left out, if the estimator takes weights.
    forget : float, default=0.2
        Share of its training records that each model is to forget.
    n_estimators : int, default=64
        Number of shadow models. Each record is forgotten by a share ``forget / 2`` of them. None is
        trained if no attack needs them.
    n_targets : int, default=16
        Number of target models. Intervals are over these models.
    attacks : sequence of str, default=("population", "ulira")
        Attacks to run.
    both : bool, default=False
        Whether to run another attack, ``"both"``, for an attacker who has the model before as well
        as after unlearning. Its score is the decrease of the signal. It finds what exact unlearning
        has removed as well, so it does not count in the evidence; compare it with its control.
    max_fpr : float, default=0.01
        Requested false positive rate, at which the true positive rate is given.
    confidence_level : float, default=0.95
        Confidence level of the intervals; 1 minus the level of all tests of attacks together.
    n_jobs : int, default=None
        Number of jobs that train models in parallel, through joblib, with a single thread each. If
        None, one worker with all threads.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.
    random_state : int, RandomState instance or None, default=None
        Controls the draws and the seeds of all models.

    Returns
    -------
    result : UnlearningResult
        Evidence, tables of attacks, controls and retained records; ``print(result)`` shows them.

    Raises
    ------
    ValueError
        If a parameter is out of range, the records are too few, or the models answer with labels.
    TypeError
        If models cannot forget in this way, or ``unlearn`` returns no model.

    See Also
    --------
    membership_game : Game about the training itself.
    skmia.ShadowPool : Shadow models for attacks on membership.

    Notes
    -----
    Two controls are always played with the same models: models that forgot nothing, which U-LiRA
    should find, and models that were retrained without the forgotten records, which no attack can
    find. Retraining takes one more training per model.

    Given the records that stay, the forgotten ones are a random part of all the others. Under exact
    unlearning the expected AUC of each target is therefore 0.5 for any attack, and targets are
    independent given the shadow models. The intervals cover how targets vary, for these records and
    these shadow models. The signal is that of :class:`~skmia.attacks.LiRA`; means and variances are
    shrunk towards records of a similar level, because few shadow models have forgotten a record.

    References
    ----------
    Hayes, J., Shumailov, I., Triantafillou, E., Khalifa, A. and Papernot, N. (2024). Inexact
    unlearning needs more careful evaluations to avoid a false sense of privacy. arXiv:2403.01218.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.games import unlearning_game
    >>> records, _ = make_membership_problem(400, n_features=100, random_state=0)
    >>> model = SGDClassifier(loss="log_loss", max_iter=20, tol=None)
    >>> settings = {"n_estimators": 8, "n_targets": 8, "random_state": 0}
    >>> for way in ("noop", "retrain"):
    ...     game = unlearning_game(model, way, records, **settings)
    ...     print(way, game.evidence)
    noop leak
    retrain none
    """
    validate_arguments(_CONSTRAINTS, locals(), "unlearning_game")
    level, max_fpr = check_confidence_level(confidence_level), check_rate(max_fpr, "max_fpr")
    check_records(records)
    attacks = check_attacks(attacks)
    trained = mark_trained(unwrap(train), records) if hasattr(train, "fit") else None
    records = records if trained is None else records[trained]
    way, estimator = check_players(train, unlearn, records, effective_n_jobs(n_jobs) > 1)
    warn_of_weights(estimator, records, "models")
    n_shadows = n_estimators if "ulira" in attacks else 0
    units = number_units(records.fingerprint, records.fields.get("group_by"))
    for_sides, *seeds = spawn_seeds(random_state, 1 + n_shadows + n_targets)
    sides = draw_sides(units, forget, n_shadows, n_targets, for_sides)
    player, job = _prepare_play(way, estimator, records, sides, seeds)
    player = replace(player, opens=not hasattr(train, "fit"))
    played = _play_models(job._replace(keep=player, n_jobs=n_jobs), verbose)
    states = complete(join_states(played, n_shadows))
    measured = measure_unlearning(states, sides, units, n_shadows, attacks, both)
    return UnlearningResult(
        **judge_unlearning(measured, max_fpr, level),
        **_describe_play(states, played, sides, n_shadows),
        n_estimators=n_shadows,
        max_fpr=max_fpr,
        confidence_level=level,
        way=f"{name(way)} of {name(train)}",
    )


def _prepare_play(way, estimator, records, sides, seeds):
    """Return what keeps the outcome of each model, and the job of training."""
    ways = list_states(way)
    spawned = [seed.spawn(1 + len(ways)) for seed in seeds]
    player = UnlearningPlayer(ways, records, sides, [rest for _, *rest in spawned])
    data = JobData(
        [records.X],
        records.y,
        weights_for(estimator, records),
        column=has_column(records),
    )
    return player, Job(estimator, data, sides != NEVER, [first for first, *_ in spawned], player)


def _play_models(job, verbose):
    """Return the results of all models, in order."""
    found = dict(run_visibly(plan_training(job, exact=True), job, verbose, "models"))
    played = [found[k] for k in sorted(found)]
    warn_once([warning for kept in played for warning in kept.warnings], job.n_models, "models")
    return played


def _describe_play(states, played, sides, n_shadows):
    """Return scores, times and numbers of records."""
    seconds = pd.DataFrame([kept.facts["seconds"] for kept in played]).mean()
    targets = sides[n_shadows:]
    scores = {name: each.scores[n_shadows:].mean() for name, each in states.items()}
    return {
        "scores": pd.Series(scores),
        "seconds": seconds.rename({"after": "unlearn", "retrained": "retrain"}),
        "n_targets": len(targets),
        "n_forgotten": round((targets == FORGOTTEN).sum(axis=1).mean()),
        "n_members": round((targets != NEVER).sum(axis=1).mean()),
    }
