"""Inference of the labels that a model was trained on."""

from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches

from .._core.outputs import Outputs
from .._core.query import log_label_scores, query_aligned, query_victim
from .._core.records import Records
from .._core.types import Frozen
from .._core.validation import check_records, order_features, set_features
from ..base import get_pool
from ..metrics import advantage_interval, share_interval
from ..shadow import ShadowPool
from ._attribute import CandidateScores

# Largest numbers of shadow models treated as the victim, and of records, to fit the weights on.
_N_VICTIMS, _N_RECORDS = 16, 1000

# Number of probabilities of shadow models that are held at once.
_CELLS = 1 << 22


class LabelInferenceAttack(CandidateScores):
    r"""Inference of the labels that a model was trained on.

    The attacker knows the features of a training record and can query the victim, and infers the
    label. A model that has learned the task predicts most labels correctly, for any record. The
    leakage is therefore the advantage over records that the victim was not trained on, see
    :meth:`compare`.

    Parameters
    ----------
    victim : fitted estimator
        Classifier under attack. It may return only labels.
    shadows : ShadowPool or int, default=None
        A fitted pool; an unfitted one is fitted once on the table from which the records given to
        ``fit`` were taken. An int is the number of clones of the victim to train. The pool must
        keep its models (``store="models"``) or, for records of the pool, their outputs
        (``store="outputs"``). The attack then prefers labels to which the victim assigns a higher
        probability than shadow models that were not trained on the record. If None, the attack
        returns the label that the victim predicts.

    Attributes
    ----------
    weights_ : ndarray of shape (2,)
        Weights of the log probability of a label according to the victim and to shadow models that
        were not trained on the record; 1 and 0 without ``shadows``.
    pool_ : ShadowPool or None
        The fitted pool.
    classes_ : ndarray of shape (n_classes,)
        Labels that can be inferred.

    Raises
    ------
    ValueError
        If the victim is a regressor, if the pool keeps neither models nor outputs, or if its
        outputs are of another kind.

    See Also
    --------
    AttributeInferenceAttack : Inference of an attribute of a record.
    skmia.epsilon.LabelAudit : Trains on labels that are assigned at random, which makes the
        advantage unbiased, and bounds the epsilon of label privacy.

    Notes
    -----
    With :math:`p` the probability of a label according to the victim, and :math:`q` the mean
    probability according to shadow models that were not trained on the record, the posterior
    probability of label y is proportional to :math:`p_y^a q_y^b`. The weights are fitted by maximum
    likelihood, with a normal prior of variance 1 around a = 1 and b = 0, on shadow models that are
    treated as the victim and their training records. Half of the finest step of the probabilities
    is added to each of them if some are 0 or 1.

    Labels of the records under attack are used only to look up which shadow models were trained on
    them. Records without labels, or outside of the pool, are treated as non-members of all shadow
    models.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.attacks import LabelInferenceAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(600, random_state=0)
    >>> members, outside = records[membership == 1], records[membership == 0]
    >>> victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    >>> attack = LabelInferenceAttack(victim).fit(outside)
    >>> attack.predict(members[:3])
    array([0, 1, 0])
    >>> attack.compare(members, outside).round(2)
                 estimate   low  high
    members           1.0  0.99  1.00
    non-members       0.6  0.54  0.66
    advantage         0.4  0.34  0.46
    """

    _parameter_constraints: dict = {"victim": "no_validation", "shadows": "no_validation"}

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows

    def fit(self, X: Records, y: Any = None) -> Self:
        """Weigh the victim against the shadow models.

        Parameters
        ----------
        X : Records of n records
            Labeled records; records of the pool, if there is one.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        records = check_records(X)
        outputs = query_victim(self.victim, records.X[:1])
        log_label_scores(outputs)  # refuses a regressor
        # Of a victim that returns only labels, one output does not show all classes.
        labels = records.y if outputs.kind == "label" else outputs.classes
        self.classes_, self._resolution = np.union1d(outputs.classes, labels), 0.0
        self.weights_, self.pool_ = np.array([1.0, 0.0]), None
        if self.shadows is not None:
            self.pool_ = get_pool(self, records)
            self._check_kinds(outputs.kind)
            self.classes_ = np.union1d(self.classes_, self.pool_.classes_)
            self._fit_weights(records, outputs.kind == "label")
        set_features(self, records)
        return self

    def _check_kinds(self, kind):
        own = self.pool_.output_kind_
        if own in ("log_odds", "value"):
            raise ValueError(
                f"The pool keeps no scores of each class, only outputs of kind {own!r}."
            )
        if (kind == "decision") != (own == "decision") and kind != "label":
            raise ValueError(
                f"The victim returns outputs of kind {kind!r} and the shadow models of kind "
                f"{own!r}."
            )

    def _fit_weights(self, records, is_hard):
        """Fit the weights on shadow models that are treated as the victim."""
        order = np.argsort(records.fingerprint, kind="stable")
        some = records[order[:_N_RECORDS]]
        answers, inside = self.pool_.answers(some), self.pool_.membership(some).T
        resolutions = [self._wrap(values).compute_resolution() for values in answers]
        self._resolution = float(np.median(resolutions))
        proba = np.exp([self._log_scores(self._wrap(values)) for values in answers])
        outside, usable = self._average_outside(proba, inside)
        blocks = []
        for own, members in zip(answers[:_N_VICTIMS], inside[:_N_VICTIMS] & usable, strict=True):
            if members.any():
                seen = self._log_scores(self._wrap(own, is_hard))
                blocks.append(np.stack([seen, outside], axis=2)[members])
        if not blocks:
            raise ValueError(
                "The weights need records with at least 1 IN and 1 OUT shadow models; none of the "
                f"{len(records)} records has them."
            )
        labels = np.searchsorted(self.classes_, some.y)
        chosen = [labels[members] for members in inside[:_N_VICTIMS] & usable]
        self.weights_ = _fit_choice(np.concatenate(blocks), np.concatenate(chosen))

    def _wrap(self, values, is_hard=False):
        """Return the outputs of a shadow model, or only its labels."""
        classes = self.pool_.classes_
        if is_hard:
            return Outputs(classes[values.argmax(axis=1)], classes, "label")
        return Outputs(values, classes, self.pool_.output_kind_)

    def _log_scores(self, outputs):
        return log_label_scores(outputs.aligned_to(self.classes_), self._resolution)

    def _average_outside(self, proba, inside):
        """Log mean probability over models without the record, and which records have any."""
        weights = ~inside
        n_outside = weights.sum(axis=0)
        mean = np.einsum("kn,knc->nc", weights, proba) / np.maximum(n_outside, 1)[:, None]
        usable = n_outside > 0
        mean[~usable] = 1 / len(self.classes_)
        return np.log(mean), usable

    def score_samples(self, X: Records) -> np.ndarray:
        """Score how likely the victim was trained on each label.

        Parameters
        ----------
        X : Records of n records
            Records, labeled or not.

        Returns
        -------
        scores : ndarray of shape (n, n_classes)
            Logarithms of numbers that are proportional to the probabilities of the labels.
        """
        records = order_features(self, check_records(X, labels=False))
        scores = self._log_scores(query_aligned(self.victim, records.X, self.classes_))
        if self.pool_ is None:
            return scores
        scores *= self.weights_[0]
        size = max(1, _CELLS // (len(self.pool_.membership_) * len(self.classes_)))
        for rows in gen_batches(len(records), size):
            scores[rows] += self.weights_[1] * self._ask_outside(records[rows])
        return scores

    def predict(self, X: Records) -> np.ndarray:
        """Infer the label of each record.

        Parameters
        ----------
        X : Records of n records
            Records, labeled or not.

        Returns
        -------
        labels : ndarray of shape (n,)
            Label with the highest score; without shadow models the one that the victim predicts,
            which for a classifier with a threshold of its own is not the most probable one.
        """
        records = order_features(self, check_records(X, labels=False))
        if self.pool_ is not None:
            return super().predict(records)
        return query_aligned(self.victim, records.X, self.classes_).as_labels().values

    def _ask_outside(self, records):
        """Log mean probability of each label over models that were not trained on the record."""
        inside = np.zeros((len(self.pool_.membership_), len(records)), dtype=bool)
        if records.y is not None:
            inside = self.pool_.membership(records).T
        answers = self.pool_.answers(records)
        proba = np.exp([self._log_scores(self._wrap(values)) for values in answers])
        return self._average_outside(proba, inside)[0]

    def predict_proba(self, X: Records) -> np.ndarray:
        """Return the probability that the record was trained on with each label.

        Parameters
        ----------
        X : Records of n records
            Records, labeled or not, that are taken to be members.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
            Posterior probabilities; those of the victim if there are no shadow models.
        """
        return softmax(self.score_samples(X), axis=1)

    def _read_truth(self, records):
        return check_records(records).y

    def compare(
        self, members: Records, non_members: Records, *, confidence_level: float = 0.95
    ) -> pd.DataFrame:
        """Compare the accuracy on members with the accuracy on non-members.

        Parameters
        ----------
        members : Records of n records
            Labeled records that the victim was trained on.
        non_members : Records of m records
            Labeled records from the same population that the victim was not trained on.
        confidence_level : float, default=0.95
            Confidence level of the intervals, in (0, 1).

        Returns
        -------
        comparison : DataFrame of shape (3, 3)
            Rows ``members``, ``non-members`` and ``advantage``, their difference; columns
            ``estimate``, ``low`` and ``high``. Intervals of the accuracies are Clopper-Pearson's,
            and of the difference Newcombe's. Records are independent, or people are, if both sets
            of records have the field ``group_by``.
        """
        right = [
            self.predict(records) == check_records(records).y for records in (members, non_members)
        ]
        people = [records.fields.get("group_by") for records in (members, non_members)]
        if any(names is None for names in people):
            people = [None, None]
        rows, level = {}, {"confidence_level": confidence_level}
        for name, hits, names in zip(("members", "non-members"), right, people, strict=True):
            rows[name] = share_interval(hits, names, **level)
        membership = np.repeat([1, 0], [len(hits) for hits in right])
        groups = None if people[0] is None else np.concatenate(list(map(np.asarray, people)))
        hits = np.concatenate(right)
        rows["advantage"] = advantage_interval(membership, hits, groups=groups, **level)
        return pd.DataFrame.from_dict(rows, orient="index", columns=["estimate", "low", "high"])


def _fit_choice(features, chosen):
    """Weights of a conditional logit of the chosen candidate, with a normal prior around (1, 0).

    Shapes: features (n, n_candidates, n_weights), chosen (n,).
    """
    start = np.zeros(features.shape[2])
    start[0] = 1.0
    taken = features[np.arange(len(chosen)), chosen]

    def objective(weights):
        log_proba = log_softmax(features @ weights, axis=1)
        loss = -log_proba[np.arange(len(chosen)), chosen].sum()
        expected = np.einsum("nc,nck->k", np.exp(log_proba), features)
        apart = weights - start
        return loss + apart @ apart / 2, expected - taken.sum(axis=0) + apart

    return minimize(objective, start, jac=True, method="L-BFGS-B").x
