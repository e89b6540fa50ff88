"""Evaluation of defenses by adaptive attacks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from joblib import Parallel
from scipy.special import ndtr
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score

from .._core.caches import clone_to_train
from .._core.containers import copy_frame
from .._core.moments import compute_both_moments
from .._core.numbers import MOST, check_number, show, to_array
from .._core.query import predict_flat
from .._core.randomness import check_random_state, isolated_randomness, seed_estimator
from .._core.records import Records, has_column
from .._core.sample_weights import WEIGHTS, fit_weighted, mark_trained, weights_for
from .._core.targets import shape_targets
from .._core.tasks import delayed
from .._core.types import ArrayLike, Seed
from .._core.validation import check_records
from .._training.frozen import thaw
from ..attacks import LiRA
from ..base import PoolAttack, check_repeatable, offer_of, settings_of_pool
from ..metrics import best_advantage_score, tpr_at_fpr_score
from ..shadow import ShadowPool

_N_BINS = 15  # of the calibration error


@dataclass(frozen=True)
class DefenseEvaluation:
    """Utility and leakage of several classifiers.

    Attributes
    ----------
    targets : DataFrame of shape (n_candidates * n_targets, n_figures)
        Figures of each model that was attacked, indexed by ``candidate`` and ``target``:
        ``train_accuracy``, ``test_accuracy``, ``calibration_error``, ``auc``, ``advantage`` and
        ``tpr_at_fpr`` of the adaptive attack, ``label_advantage`` of the attack that reads
        predicted labels alone. NaN where a classifier gives no probabilities, the non-members do
        not resolve the rate, or the few records that are measured are all members or all not.
    exposure : DataFrame of shape (n_measured, n_candidates)
        Estimated advantage of the best attack on the signal of each measured record, from normal
        laws with the moments of the IN and OUT models. Few models make it too high for all records:
        compare candidates, not single numbers.
    """

    targets: pd.DataFrame
    exposure: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return means over the attacked models with their standard errors.

        Returns
        -------
        frame : DataFrame of shape (n_candidates, 2 * n_figures + 2)
            Each figure and its ``_se``, and the median and 99th percentile of the exposure. Targets
            share records, so that standard errors are too small for statements about others.
        """
        groups = self.targets.groupby(level="candidate", sort=False)
        errors = groups.sem().add_suffix("_se")
        columns = [name for figure in self.targets for name in (figure, f"{figure}_se")]
        frame = pd.concat([groups.mean(), errors], axis=1)[columns]
        for name, share in (("exposure_median", 0.5), ("exposure_99", 0.99)):
            frame[name] = self.exposure.quantile(share).reindex(frame.index)
        return frame

    def match(self, undefended: Sequence[str]) -> pd.DataFrame:
        """Return each defense beside the undefended classifier of the nearest test accuracy.

        A defense that costs accuracy competes with a weaker model, which leaks less as well.

        Parameters
        ----------
        undefended : sequence of str
            Names of the candidates without a defense, for instance trees of several depths.

        Returns
        -------
        frame : DataFrame of shape (n_defenses, 8)
            The match, both test accuracies, and the differences (defense minus match) of
            ``advantage``, ``tpr_at_fpr`` and ``label_advantage``, with standard errors of the
            first two over targets that share their training sets.
        """
        means = self.to_frame()
        missing = [name for name in undefended if name not in means.index]
        if missing or not len(undefended):
            raise ValueError(
                f"undefended must name candidates ({', '.join(means.index)}); "
                f"got {show(undefended)}."
            )
        rows = {}
        for name in means.index.difference(list(undefended), sort=False):
            gaps = means.loc[list(undefended), "test_accuracy"] - means.loc[name, "test_accuracy"]
            match = gaps.abs().idxmin()
            difference = self.targets.loc[name] - self.targets.loc[match]
            row = rows[name] = {
                "match": match,
                "test_accuracy": means.loc[name, "test_accuracy"],
                "test_accuracy_of_match": means.loc[match, "test_accuracy"],
            }
            for figure in ("advantage", "tpr_at_fpr"):
                row[figure] = difference[figure].mean()
                row[f"{figure}_se"] = difference[figure].sem()
            row["label_advantage"] = difference["label_advantage"].mean()
        return pd.DataFrame.from_dict(rows, orient="index")


def evaluate_defense(
    candidates: dict[str, BaseEstimator],
    records: Records,
    *,
    attack: PoolAttack | None = None,
    n_estimators: int = 16,
    n_targets: int = 8,
    max_fpr: float = 0.01,
    canaries: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
) -> DefenseEvaluation:
    """Evaluate classifiers with and without a defense by adaptive attacks.

    Shadow models are trained like the candidate, including its defense, and several of them are
    attacked with the others. All candidates have the same training sets, so that they can be
    compared for each target model. A non-adaptive attack would overestimate the defense.

    Parameters
    ----------
    candidates : dict of str to classifier
        Unfitted classifiers by name: defenses, and the classifier without them. What is frozen in
        them is trained again.
    records : Records of n records
        Labeled records; each model is trained on half of them. Those whose ``sample_weight`` is 0
        are left out.
    attack : LiRA, RMIA or CalibratedAttack, default=None
        Attack whose pool is replaced. If None, ``LiRA()`` is used.
    n_estimators : int, default=16
        Shadow models of each candidate, even, at least 4.
    n_targets : int, default=8
        Models that are attacked, at most `n_estimators`.
    max_fpr : float, default=0.01
        False positive rate at which the true positive rate is reported.
    canaries : array-like of shape (n,), dtype bool, default=None
        Records on which leakage is measured, such as canaries of
        :func:`~skmia.epsilon.canaries.mislabel`. If None, all
        records. Accuracies are measured on the others.
    n_jobs : int, default=None
        Number of jobs that train shadow models.
    random_state : int, RandomState instance or None, default=None
        Controls training sets and models.

    Returns
    -------
    evaluation : DefenseEvaluation

    See Also
    --------
    skmia.model_selection.make_leakage_scorer : Leakage in a search.

    References
    ----------
    Aerni, M., Zhang, J. and Tramer, F. (2024). Evaluations of machine learning privacy defenses are
    misleading. CCS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import Records
    >>> from skmia.defenses import LabelOnlyDefense, evaluate_defense
    >>> records = Records(*load_digits(return_X_y=True))[:600]
    >>> tree = DecisionTreeClassifier()
    >>> candidates = {
    ...     "tree": tree,
    ...     "small tree": DecisionTreeClassifier(max_leaf_nodes=15),
    ...     "labels only": LabelOnlyDefense(tree),
    ... }
    >>> evaluation = evaluate_defense(candidates, records, n_estimators=8, random_state=0)
    >>> frame = evaluation.to_frame()
    >>> bool(frame.loc["small tree", "advantage"] < frame.loc["tree", "advantage"])
    True
    >>> evaluation.match(["tree", "small tree"])["match"].to_dict()
    {'labels only': 'tree'}
    """
    _check_candidates(candidates, records, n_estimators, n_targets)
    attack = LiRA() if attack is None else attack
    settings = _choose_settings(candidates, attack)
    measured, places = _as_mask(canaries, records), np.arange(len(records))
    if (trained := mark_trained(DummyClassifier(), records)) is not None:
        records, measured, places = records[trained], measured[trained], places[trained]
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    # Training sets are the same as in any pool with this seed.
    plain = records._without(WEIGHTS)  # of which nothing is learned
    draw = ShadowPool(DummyClassifier(), n_estimators, random_state=seed).fit(plain)
    design = _EvaluationDesign(records, draw.membership_[:n_targets], measured, max_fpr)
    tables, exposure = {}, {}
    for name, candidate in candidates.items():
        if hasattr(candidate, "predict_proba") or hasattr(candidate, "decision_function"):
            pool = ShadowPool(
                candidate, n_estimators, **settings, n_jobs=n_jobs, random_state=seed
            ).fit(records)
            tables[name] = _attack_pool(pool, attack, design)
            exposure[name] = _estimate_exposure(pool, records)
        else:
            tables[name] = _attack_labels(candidate, design, seed, n_jobs)
            exposure[name] = np.full(len(records), np.nan)
    targets = pd.concat(tables, names=["candidate", "target"])
    return DefenseEvaluation(targets, pd.DataFrame(exposure, places)[measured])


_FIGURES = "calibration_error", "auc", "advantage", "tpr_at_fpr", "label_advantage"


@dataclass(frozen=True)
class _EvaluationDesign:
    """What all candidates share: the training sets of the targets, and who is measured."""

    records: Records
    membership: np.ndarray
    measured: np.ndarray
    max_fpr: float

    def describe(self, target, guesses, proba):
        """Return accuracies, calibration and the attack on labels alone, for one target."""
        inside, right = self.membership[target], guesses == self.records.y
        plain = ~self.measured if not self.measured.all() else self.measured
        outside = ~inside & plain
        row = {
            "train_accuracy": right[inside & plain].mean(),
            "test_accuracy": right[outside].mean(),
        }
        row |= dict.fromkeys(_FIGURES, np.nan)
        if proba is not None:
            row["calibration_error"] = _compute_calibration_error(proba[outside], right[outside])
        members, others = inside & self.measured, ~inside & self.measured
        if members.any() and others.any():
            row["label_advantage"] = right[members].mean() - right[others].mean()
        return row

    def judge(self, target, scores, judged=True):
        """Return figures of the scores of an attack on one target, of records that it can judge."""
        measured = self.measured & judged
        truth, scores = self.membership[target][measured], scores[measured]
        if truth.all() or not truth.any():
            return dict.fromkeys(("auc", "advantage", "tpr_at_fpr"), np.nan)
        try:
            tpr = tpr_at_fpr_score(truth, scores, max_fpr=self.max_fpr, on_unresolvable="raise")
        except ValueError:
            tpr = np.nan
        auc, advantage = roc_auc_score(truth, scores), best_advantage_score(truth, scores)
        return {"auc": auc, "advantage": advantage, "tpr_at_fpr": tpr}


def _check_candidates(candidates, records, n_estimators, n_targets):
    check_records(records)
    if not isinstance(candidates, dict) or not candidates:
        raise ValueError("candidates must be a dict of names to unfitted classifiers.")
    for name, candidate in candidates.items():
        if not hasattr(candidate, "fit"):
            raise TypeError(f"Candidate {name!r} must be a classifier; got {show(candidate)}.")
    allowed = "even and at least 4"
    check_number(n_estimators, "n_estimators", allowed, 4, MOST, whole=True)
    if n_estimators % 2:
        raise ValueError(f"n_estimators must be {allowed}; got {n_estimators}.")
    check_number(n_targets, "n_targets", "from 1 to n_estimators", 1, n_estimators, whole=True)


def _choose_settings(candidates, attack):
    """What the pools must keep for the attack, which must be able to read every candidate."""
    check_repeatable(attack)
    needs = attack.needs()
    for name, candidate in candidates.items():
        offer = offer_of(candidate)
        reason = needs.why_not(offer) if offer.kind != "label" else None
        if reason is not None:
            raise ValueError(f"{type(attack).__name__} cannot attack {name!r}: {reason}.")
    return settings_of_pool(needs.keeps | needs.uses | {"models"})


def _as_mask(canaries, records):
    if canaries is None:
        return np.ones(len(records), dtype=bool)
    mask = to_array(canaries, "canaries", "be a boolean array with one value for each record")
    if mask.dtype != bool or mask.shape != (len(records),) or not mask.any():
        raise ValueError(
            f"canaries must be a boolean array with one value for each of {len(records)} records, "
            "some of them True."
        )
    return mask


def _attack_pool(pool, attack, design):
    """Attack the first models of a pool with the others."""
    n_targets, records = len(design.membership), design.records
    attack = clone(attack).set_params(shadows=pool, victim=None)
    attack.fit(records)
    shape = n_targets, len(records)
    scores, judged = np.empty(shape), np.empty(shape, dtype=bool)
    for rows, some, _, known in attack.score_left_out(records, np.arange(n_targets)):
        scores[:, rows], judged[:, rows] = some, known
    table = []
    for k in range(n_targets):
        model = pool.estimators_[k]
        proba = None
        if hasattr(model, "predict_proba"):
            proba = model.predict_proba(copy_frame(records.X))
        row = design.describe(k, predict_flat(model, records.X), proba)
        table.append({**row, **design.judge(k, scores[k], judged[k])})
    return pd.DataFrame(table)


def _attack_labels(candidate, design, seed, n_jobs):
    """Train the targets alone and read their labels."""
    records, candidate = design.records, thaw(candidate)[0]  # as in a pool
    children = np.random.SeedSequence(seed).spawn(len(design.membership))
    models = Parallel(n_jobs=n_jobs)(
        delayed(_train_candidate)(candidate, records[inside], child)
        for inside, child in zip(design.membership, children, strict=True)
    )
    return pd.DataFrame(
        [design.describe(k, predict_flat(model, records.X), None) for k, model in enumerate(models)]
    )


def _train_candidate(candidate, records, seeds):
    model = clone_to_train(candidate)
    seed_estimator(model, seeds)
    with isolated_randomness(seeds):
        y = shape_targets(model, records.X, records.y, has_column(records))
        return fit_weighted(model, records.X, y, weights_for(model, records))


def _estimate_exposure(pool, records):
    """Return the advantage of the best threshold on the signal of each record, taken as normal."""
    values, inside = pool.values(records, pool.stored_[0]), pool.membership(records).T
    into, out = compute_both_moments(values, inside, ~inside)
    spread = np.sqrt((into.variance + out.variance) / 2)
    return 2 * ndtr(np.abs(into.mean - out.mean) / spread / 2)[0] - 1


def _compute_calibration_error(proba, right):
    """Return the mean distance between confidence and accuracy over bins of equal confidence."""
    confidence = proba.max(axis=1)
    place = np.minimum((confidence * _N_BINS).astype(int), _N_BINS - 1)
    sums = np.bincount(place, confidence - right, minlength=_N_BINS)
    return np.abs(sums).sum() / len(right)
