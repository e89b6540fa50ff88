"""Attack that trains attack models on the predictions of shadow models."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_random_state

from .._core.copies import copy_unfitted
from .._core.needs import Needs
from .._core.outputs import Outputs
from .._core.query import query
from .._core.randomness import seed_estimator
from .._core.sklearn import HasMethods, at_least
from .._core.threads import on_one_thread
from .._core.types import Frozen, Seed
from .._core.validation import check_outputs_source
from ..base import BaseAttack, PosteriorMixin, get_pool
from ..shadow import ShadowPool
from ..signals import AnswerSignal, Signal, get_signal, get_signal_names

_ARRAYS = ("probabilities", "sorted_probabilities")

# Minimum number of rows of members, and of non-members, for a class to have its own attack model.
_FEWEST = 2


def _draw_pairs(inside, chosen, max_rows, rng):
    """Draw as many (model, record) pairs of members as of non-members."""
    members = np.flatnonzero(inside & chosen)
    others = np.flatnonzero(~inside & chosen)
    size = min(len(members), len(others), max_rows // 2)
    pairs = [rng.choice(group, size, replace=False) for group in (members, others)]
    return np.unravel_index(np.concatenate(pairs).astype(int), inside.shape)


class ShadowAttack(PosteriorMixin, BaseAttack):
    """Attack models trained on the predictions of shadow models.

    Each shadow model shows how a model responds to members and non-members of its training set. One
    attack model per class of the task learns to separate them. Classes with too few rows share a
    pooled attack model that also reads the class.

    Parameters
    ----------
    victim : fitted estimator, default=None
        Classifier under attack. If None, the predictions stored by
        :meth:`skmia.Records.with_outputs` are used.
    shadows : ShadowPool or int
        A pool with ``store="outputs"`` or ``store="models"``, fitted or not; an unfitted one is
        fitted once on the table from which the records given to ``fit`` were taken. An int is the
        number of clones of the victim to train.
    attack_estimator : classifier, default=None
        Unfitted classifier with ``predict_proba`` that learns membership from the features. If
        None, a :class:`~sklearn.ensemble.HistGradientBoostingClassifier` is used.
    features : sequence of str or signal, default=("probabilities",)
        Features of the attack models: ``"probabilities"``, ``"sorted_probabilities"`` (largest
        first), any signal of the outputs or its name (``"loss"``, ``ODIN(temperature=5.0)``, ...),
        or the name of a field of the records (one-hot encoded), such as ``"group"``.
    per_class : bool, default=True
        Whether to train one attack model per class of the task. If False, a single attack model is
        trained on all records, without the class.
    max_rows : int, default=100_000
        Maximum number of training rows of an attack model, drawn at random.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of rows and the attack models.

    Attributes
    ----------
    estimators_ : dict
        Fitted attack model of each class that has one.
    pooled_estimator_ : classifier or None
        Attack model of all other classes.
    offset_ : float
        Threshold of the probability of membership, by default 0.5.
    pool_ : ShadowPool
        The fitted pool.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    ValueError
        If the pool did not store outputs, or a feature is unknown.

    See Also
    --------
    LiRA : Likelihood-ratio attack that models the signal of each record.

    Notes
    -----
    With one binary feature such as ``"correctness"``, an attack model can only predict "member if
    correct", the opposite, or the same for all records. The advantage within a class is then plus
    or minus the generalization gap of the class, or 0.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.attacks import ShadowAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(10, random_state=0).fit(members.X, members.y)
    >>> pool = ShadowPool(model, n_estimators=4, store="outputs", random_state=0).fit(records)
    >>> attack = ShadowAttack(model, pool, random_state=0)
    >>> bool(attack.fit(records).score(records, membership) > 0.4)
    True
    """

    _parameter_constraints = {
        **BaseAttack._parameter_constraints,
        "shadows": "no_validation",
        "attack_estimator": [HasMethods(["fit", "predict_proba"]), None],
        "features": [list, tuple],
        "per_class": ["boolean"],
        "max_rows": [at_least(10)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        shadows: ShadowPool | Frozen | int | None = None,
        *,
        attack_estimator: BaseEstimator | None = None,
        features: Sequence[str | Signal] = ("probabilities",),
        per_class: bool = True,
        max_rows: int = 100_000,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.shadows = shadows
        self.attack_estimator = attack_estimator
        self.features = features
        self.per_class = per_class
        self.max_rows = max_rows
        self.random_state = random_state

    def _needs(self):
        reads, signals = {"proba", "logits", "decision"}, get_signal_names(answers_only=True)
        for name in self.features:
            if isinstance(name, Signal) or name in signals:
                reads &= set(get_signal(name).reads)
        return Needs(frozenset(reads), keeps=frozenset({"outputs"}))

    def _fit(self, records, membership):
        check_outputs_source(self.victim)
        self.pool_ = get_pool(self, records)
        records = self._records_of_pool(records)
        self._fit_features(records)
        rng = check_random_state(self.random_state)
        answers, inside = self.pool_.answers(records), self.pool_.membership(records).T
        # The decision value of a class without training records is minus infinity.
        self._lowest = answers.min(where=np.isfinite(answers), initial=0)
        self.estimators_, self.pooled_estimator_ = {}, None
        for label in self.pool_.classes_ if self.per_class else ():
            models, rows = _draw_pairs(inside, records.y == label, self.max_rows, rng)
            if len(models) >= 2 * _FEWEST:
                X = self._compute_features(answers[models, rows], records[rows])
                self.estimators_[label] = self._fit_estimator(X, inside[models, rows], rng)
        if len(self.estimators_) < len(self.pool_.classes_):
            everyone = np.ones(len(records), dtype=bool)
            models, rows = _draw_pairs(inside, everyone, self.max_rows, rng)
            X = self._compute_features(answers[models, rows], records[rows], self.per_class)
            self.pooled_estimator_ = self._fit_estimator(X, inside[models, rows], rng)

    def _records_of_pool(self, records):
        # The attack models learn from the training sets of the shadow models. The victim's members
        # are not used, so every record of the pool can be used.
        known = self.pool_.locate(records) >= 0
        if not known.any():
            raise ValueError(
                "None of the records is in the shadow pool; fit the attack on records of the pool."
            )
        return records if known.all() else records[known]

    def _fit_estimator(self, X, inside, rng):
        estimator = self.attack_estimator
        is_default = estimator is None
        estimator = HistGradientBoostingClassifier() if is_default else copy_unfitted(estimator)
        seed_estimator(estimator, np.random.SeedSequence(rng.randint(np.iinfo(np.int32).max)))
        with on_one_thread(is_default):
            return estimator.fit(X, inside.astype(int))

    def _fit_features(self, records):
        """Sort the features into arrays, signals and one-hot encoded fields."""
        if len(self.features) == 0:
            raise ValueError("features must name at least one feature; got none.")
        self._encoders, signals = {}, get_signal_names(answers_only=True)
        for name in self.features:
            if isinstance(name, AnswerSignal):
                continue
            if isinstance(name, str) and name in records.fields and name != "outputs":
                encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
                self._encoders[name] = encoder.fit(records[name].reshape(-1, 1))
            elif not isinstance(name, str) or name not in (*_ARRAYS, *signals):
                raise ValueError(
                    f"Feature {name!r} is neither one of {', '.join(_ARRAYS)}, nor a signal of "
                    f"answers or the name of one ({', '.join(signals)}), nor a field of the "
                    f"records ({', '.join(records.fields) or 'they have none'})."
                )

    def _compute_features(self, values, records, with_label=False):
        values = np.maximum(values, self._lowest)
        outputs = Outputs(values, self.pool_.classes_, self.pool_.output_kind_)
        columns = [self._compute_feature(name, outputs, records) for name in self.features]
        if with_label:
            columns.append(np.eye(len(self.pool_.classes_))[outputs.label_index(records.y)])
        return np.column_stack(columns)

    def _compute_feature(self, name, outputs, records):
        if isinstance(name, str) and name in self._encoders:
            if name not in records.fields:
                have = ", ".join(records.fields) or "none"
                raise ValueError(f"The records lack the field {name!r}; their fields: {have}.")
            return self._encode(name, records[name].reshape(-1, 1))
        if name not in _ARRAYS:
            return get_signal(name)(outputs, records.y)
        values = outputs.values if outputs.kind == "decision" else np.exp(outputs.log_proba())
        return values if name == "probabilities" else -np.sort(-values, axis=1)

    def _encode(self, name, values):
        try:
            return self._encoders[name].transform(values)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Field {name!r} has values that cannot be compared with those in fit: {error}"
            ) from error

    def _score_samples(self, records):
        outputs = query(self.victim, records)
        if outputs.kind != self.pool_.output_kind_:
            raise ValueError(
                f"The victim returns {outputs.kind!r} but the shadow models return "
                f"{self.pool_.output_kind_!r}, so the attack models cannot read its outputs."
            )
        # Shadow models have no column for a class that only the victim knows.
        classes = np.union1d(outputs.classes, self.pool_.classes_)
        columns = np.searchsorted(classes, self.pool_.classes_)
        values = outputs.aligned_to(classes).values[:, columns].astype(np.float32)
        scores = np.empty(len(records))
        pooled = np.ones(len(records), dtype=bool)
        for label, estimator in self.estimators_.items():
            rows = np.flatnonzero(records.y == label)
            pooled[rows] = False
            if len(rows):
                X = self._compute_features(values[rows], records[rows])
                scores[rows] = self._ask_estimator(estimator, X)
        rows = np.flatnonzero(pooled)
        if len(rows):
            outputs.label_index(records.y)  # names an unknown label
            X = self._compute_features(values[rows], records[rows], self.per_class)
            scores[rows] = self._ask_estimator(self.pooled_estimator_, X)
        return scores

    def _ask_estimator(self, estimator, X):
        with on_one_thread(self.attack_estimator is None):
            return estimator.predict_proba(X)[:, 1]

    def _to_probability(self, scores):
        return scores

    def _natural_offset(self, records):
        return 0.5
