"""The attack on a released model of trees by the thresholds that it splits at."""

import warnings
from numbers import Real

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.base import BaseEstimator

from .._core.callers import level_of_user
from .._core.needs import ANY, Needs
from .._core.probabilities import posterior_of
from .._core.query import unwrap
from .._core.records import Records
from .._core.sklearn import Interval
from .._core.validation import check_records, order_features
from ..victims import ThresholdAllowance, read_split_thresholds, replay_samples
from ._file_attack import CandidatesAttack, expect_auc, find_known

# What one threshold can say, in nats: it can have come about in a way that is not foreseen.
_MOST = 8.0
_LEAST_LIKELY = 1e-8
# Sums of weights are taken in whole units, so that differences of them have no rounding error.
_UNIT = 2.0**-50
N_PASSES = 4
DAMPING = 0.3
# Log odds of further records, so small that they do not count for others.
ABSENT = -80.0
_CERTAIN = 30.0
_LEAST_ODDS = -500.0


def pass_messages(groups, n_candidates, prior, outsiders):
    """Return the log likelihood ratio of each candidate from all thresholds."""
    messages = [np.zeros(len(group.candidates)) for group in groups]
    parts = [np.zeros(n_candidates) for _ in groups]
    total, start = np.zeros(n_candidates), logit(prior)
    for n_passed in range(N_PASSES):
        for g, group in enumerate(groups):
            total -= _to_members(parts[g], group.kept)
            odds = _to_sample(start + total, group.kept) + parts[g]
            new = compute_messages(group, odds[group.candidates] - messages[g], outsiders)
            old = DAMPING if n_passed else 0.0
            messages[g] = (1 - old) * new + old * messages[g]
            parts[g] = np.bincount(group.candidates, messages[g], minlength=n_candidates)
            total += _to_members(parts[g], group.kept)
    return total, parts


def _to_members(ratios, kept):
    """Return the log likelihood ratio of membership from one of being in a sample."""
    return (
        np.log(kept) + np.logaddexp(ratios, np.log1p(-kept) - np.log(kept)) if kept < 1 else ratios
    )


def _to_sample(odds, kept):
    """Turn log odds of membership into log odds of being in a sample."""
    if kept == 1:
        return odds
    share = kept * expit(np.maximum(odds, _LEAST_ODDS))
    return np.log(share) - np.log1p(-share)


def judge_further(groups, ratios, parts, n_further, prior, outsiders):
    """Return the log likelihood ratio of further records, each as one more candidate."""
    n, found = len(ratios), np.zeros(n_further)
    for group, part in zip(groups, parts, strict=True):
        others = ratios - _to_members(part, group.kept)
        odds = np.full(n + n_further, ABSENT)
        odds[:n] = _to_sample(logit(prior) + others, group.kept) + part
        further = compute_messages(group, odds[group.candidates], outsiders)
        sums = np.bincount(group.candidates, further, minlength=n + n_further)
        found += _to_members(sums[n:], group.kept)
    return found


def compute_messages(group, odds, outsiders):
    """Return log likelihood ratio of being in the sample, for each entry, from its threshold."""
    n_slots, lower, upper = len(group.of_slot), group.lower, group.upper
    absent = log_expit(-np.clip(odds, ABSENT, _CERTAIN))
    none_there = np.bincount(group.slots, absent, minlength=n_slots).astype(np.float64)
    none_there -= outsiders * group.kept * group.others
    between = np.append(0, np.cumsum(none_there))
    some_there = -np.expm1(none_there)
    alone = lower == upper
    passed = np.where(alone, 0.0, between[upper] - between[np.minimum(lower + 1, n_slots)])
    weight = (
        group.weights * np.exp(passed) * some_there[lower] * np.where(alone, 1.0, some_there[upper])
    )
    ends, inside, rest = _sum_weights(group, weight)
    with_value = ends / np.maximum(some_there, np.finfo(float).tiny)
    slot = group.slots
    present = rest[slot] + with_value[slot]
    missing = rest[slot] + inside[slot] * np.exp(-absent)
    missing += with_value[slot] * -np.expm1(np.minimum(none_there[slot] - absent, 0.0))
    ratios = np.log(present + _LEAST_LIKELY) - np.log(missing + _LEAST_LIKELY)
    return np.clip(ratios, -_MOST, _MOST)


def _sum_weights(group, weight):
    """Return weight of the explanations that end at each value, pass over it, and do neither."""
    n_slots, alone = len(group.of_slot), group.lower == group.upper
    upper, lower = group.upper[~alone], group.lower

    def add(weight):
        ends = np.bincount(lower, weight, minlength=n_slots)
        return ends + np.bincount(upper, weight[~alone], minlength=n_slots)

    units = np.rint(weight / _UNIT)
    whole = np.bincount(group.of_pair, units, minlength=group.n_thresholds)[group.of_slot]
    change = np.bincount(lower[~alone] + 1, units[~alone], minlength=n_slots + 1)
    change[:n_slots] -= np.bincount(upper, units[~alone], minlength=n_slots)
    inside = np.cumsum(change)[:n_slots]
    return add(weight), inside * _UNIT, (whole - add(units) - inside) * _UNIT


_N_ROUNDS = 6
_N_SCALINGS = 50
# Least share of training rows that are taken to be none of the candidates.
_LEAST_UNUSED = 0.5
_LEAST_SHARE = 1e-12


def locate(groups, drawn, n_candidates, prior, outsiders):
    """Return the probability that each candidate is each training row.

    What the thresholds of one tree say of a candidate belongs to the sample of this tree: they
    speak for the rows that it has drawn. In further rounds the probabilities tell in turn which
    candidates are in the sample.

    Take drawn of shape (n_trees, n_rows); return proba of shape (n_candidates, n_rows).
    """
    drawn = drawn.astype(np.float32)
    for group in groups:
        if group.kept == 1:  # moved thresholds speak of all training rows
            drawn[group.sample] = 1
    messages = [np.zeros(len(group.candidates)) for group in groups]
    parts = np.zeros((n_candidates, len(drawn)))
    others = prior * outsiders / (1 - outsiders)
    for n_done in range(_N_ROUNDS):
        odds = _compute_odds(parts, drawn, prior, outsiders)
        for g, group in enumerate(groups):
            there = odds[group.candidates, group.sample] - messages[g]
            old = DAMPING if n_done else 0.0
            new = compute_messages(group, there, others)
            messages[g] = (1 - old) * new + old * messages[g]
            parts[:, group.sample] = np.bincount(group.candidates, messages[g], n_candidates)
    return _match(parts, drawn, prior, outsiders)[0]


def _compute_odds(parts, drawn, prior, outsiders):
    """Return the log odds of each candidate to be in each sample."""
    proba, untold = _match(parts, drawn, prior, outsiders)
    share = (proba @ drawn.T).astype(np.float64)
    with np.errstate(divide="ignore"):
        share += untold[:, None] * expit(parts + logit(drawn.mean(axis=1)))
    return logit(np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE))


def _match(parts, drawn, prior, outsiders):
    """Probability that each candidate is each row, and that it is a member in some other way.

    A row is used at most once. What is said of a candidate may have nothing to do with the samples
    that were drawn, because it was computed from other people with equal values. Without this
    explanation, the row whose samples agree best by chance would be taken for the right one.
    """
    kept, n_rows, odds = drawn.mean(axis=1), drawn.shape[1], prior / (1 - prior)
    ratios = parts.astype(np.float32) @ drawn
    with np.errstate(divide="ignore"):
        other = np.logaddexp(np.log(kept) + parts, np.log1p(-kept)).sum(axis=1)
    most = np.maximum(np.maximum(ratios.max(axis=1), other), 0).astype(np.float32)
    weights, untold = np.exp(ratios - most[:, None]), odds * np.exp(other - most)
    rest = (np.exp(-most) + untold).astype(np.float32)
    unused = np.float32(max(outsiders, _LEAST_UNUSED) * n_rows / odds)
    scale = np.full(n_rows, odds / n_rows, dtype=np.float32)
    for _ in range(_N_SCALINGS):
        scale = 1 / ((1 / (rest + weights @ scale)) @ weights + unused)
    shares = weights * scale
    total = rest + shares.sum(axis=1)
    return shares / total[:, None], untold / total


# Share of thresholds that complete candidates explain, at least.
_LEAST_EXPLAINED = 0.98


class SplitThresholdAttack(CandidatesAttack):
    r"""Find the candidates from whose values the thresholds of a tree model were computed.

    A tree of scikit-learn splits halfway between two consecutive values of its training rows. If
    only one pair of candidate values has a threshold as its midpoint, both values were in the
    training data, and no training row at that node has a value between them. Edges of histogram
    boosting and thresholds of XGBoost, LightGBM and CatBoost are training values, or midpoints of
    two. The attack weighs all explanations of each threshold by the evidence of the other
    thresholds about the candidates. It needs no queries, shadow models or known members. It reads
    neither counts nor leaf values, so it also works on files from which these were removed.

    Parameters
    ----------
    victim : fitted estimator
        Model whose file is attacked: a decision tree, random forest, bagged decision trees,
        AdaBoost of decision trees, gradient boosting, histogram gradient boosting, XGBoost,
        LightGBM or CatBoost model, a Pipeline that ends in one or a search that has chosen one.
    outsiders : float, default=0.0
        Share of the training rows that are not among the candidates, in [0, 1). Their values are
        assumed to be as frequent as those of the candidates.
    prior : float, default=0.5
        Share of members among the candidates, in (0, 1).

    Attributes
    ----------
    n_thresholds_ : int
        Number of thresholds that were read; the same one among the same candidates counts once.
    explained_ : float
        Share of the thresholds that values of the candidates explain. It is near 1 if no training
        row is missing among them. On columns with few distinct values it is also near 1 if some
        are missing.
    expected_auc_ : float
        Expected AUC, which does not require membership: the AUC that follows if the scores are log
        likelihood ratios. It was within 0.05 of the AUC on real tables with complete candidates,
        and up to 0.1 too high if a fifth of the training rows were missing among them.
    offset_ : float
        Threshold of the score. Without ``membership``, the smallest threshold above 0 that at most
        5% of the non-members reach if the scores are log likelihood ratios.
    classes_ : ndarray of shape (2,)
        ``[0, 1]``.

    Raises
    ------
    TypeError
        If the victim is of another kind.
    ValueError
        If its thresholds were not computed from values, as in extra trees.

    Warns
    -----
    UserWarning
        If fewer than 98% of the thresholds are explained and ``outsiders`` is 0.

    See Also
    --------
    NodeEquationsAttack : Reads what the nodes count.
    StoredValuesAttack : Looks for values that are stored as they were.

    Notes
    -----
    The candidates are all records given to ``fit``, which needs no membership; a record that is
    scored later is judged as one more candidate. Labels are not used. Candidates must be exact, as
    values are compared as the trees compare them: in single precision, except in histogram boosting
    and LightGBM. Splits on categories have no threshold; other columns of numbers are read.

    The score is the log likelihood ratio of membership, without the prior. Let :math:`q_i` be the
    probability that candidate i of a node is in the sample that the tree was grown on, and
    :math:`e_g` the product of :math:`1 - q_i` over the candidates with the value g. A pair of
    values :math:`a < b` whose midpoint is the threshold has the weight

    .. math:: (1 - e_a)(1 - e_b) \prod_{a < g < b} e_g,

    and the evidence of the threshold about a candidate is the log ratio of the sums of these
    weights if it is in the sample and if it is not, at most 8 in absolute value. Each probability
    comes from all other thresholds, in four passes over the trees. A tree that was grown on a
    sample says :math:`\log(\kappa e^l + 1 - \kappa)` of a training row that is in the sample with
    probability :math:`\kappa`.

    Where fewer than a tenth of the midpoints are explained, as after
    :func:`~skmia.defenses.move_thresholds`, each threshold is taken as a uniform draw from the gap
    between two training values, and all gaps around it are weighed. ``expected_auc_`` is too high
    then, by up to 0.2.

    Equations of counts find more on most models. The two combine, because both scores are log
    likelihood ratios and say different things.

    References
    ----------
    Kschischang, F. R., Frey, B. J. and Loeliger, H.-A. (2001). Factor graphs and the sum-product
    algorithm. IEEE Transactions on Information Theory.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia.attacks import SplitThresholdAttack
    >>> from skmia.datasets import make_membership_problem
    >>> records, membership = make_membership_problem(300, random_state=0)
    >>> members = records[membership == 1]
    >>> model = RandomForestClassifier(min_samples_leaf=10, random_state=0)
    >>> victim = model.fit(members.X, members.y)
    >>> attack = SplitThresholdAttack(victim).fit(records)
    >>> attack.explained_
    1.0
    >>> bool(attack.expected_auc_ > 0.95), bool(attack.score(records, membership) > 0.9)
    (True, True)
    """

    _parameter_constraints = {
        **CandidatesAttack._parameter_constraints,
        "outsiders": [Interval(Real, 0, 1, closed="left")],
        "prior": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        outsiders: float = 0.0,
        prior: float = 0.5,
    ) -> None:
        self.victim = victim
        self.outsiders = outsiders
        self.prior = prior

    def locate_rows(self, X: Records) -> tuple[np.ndarray, np.ndarray]:
        """Find the row of the training table that each candidate was.

        The seeds in the file of a random forest or of bagged trees repeat the draw of the samples
        on which its trees were grown. If thresholds of exactly those trees that drew a row were
        computed from the values of a candidate, the candidate was this row.

        Parameters
        ----------
        X : Records of n records
            Candidates that were given to ``fit``.

        Returns
        -------
        rows : ndarray of shape (n,), dtype int
            Number of the row, from 0, in the table that reached the forest; -1 if no row has a
            probability above 0.5, and for records that were not given to ``fit``.
        proba : ndarray of shape (n,)
            Probability of the most probable row, 0 for records that were not given to ``fit``.

        Raises
        ------
        ValueError
            If the samples cannot be drawn again: the model is of another kind, its trees were
            grown on all rows, its seeds or the number of its training rows were removed, or this
            installation draws other samples.

        Notes
        -----
        Records with equal values support the same thresholds, so each row number is compared with
        the explanation that the evidence is independent of the samples. What the nodes count is not
        read: in forests with large leaves, a search with counts confirmed its own guesses. Several
        arrays hold 4 bytes for each pair of a candidate and a training row.

        Examples
        --------
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from skmia.attacks import SplitThresholdAttack
        >>> from skmia.datasets import make_membership_problem
        >>> records, membership = make_membership_problem(300, random_state=0)
        >>> members = records[membership == 1]
        >>> model = RandomForestClassifier(50, random_state=0).fit(members.X, members.y)
        >>> attack = SplitThresholdAttack(model).fit(records)
        >>> rows, proba = attack.locate_rows(members)
        >>> bool((rows == range(len(members)))[proba > 0.9].mean() > 0.99)
        True
        """
        records = order_features(self, check_records(X))
        place, known = find_known(self._digests, records)
        drawn = replay_samples(self.victim)
        allowance = ThresholdAllowance(chosen=self._chosen)
        groups = read_split_thresholds(self.victim, self._X, self.prior, allowance=allowance)
        proba = locate(groups, drawn, len(self._X), self.prior, self.outsiders)
        most = proba.max(axis=1)
        row = np.where(most > 0.5, proba.argmax(axis=1), -1)
        first = np.searchsorted(self._groups, place)  # equal candidates have the same probabilities
        return np.where(known, row[first], -1), np.where(known, most[first], 0.0)

    def _needs(self):
        return Needs(ANY, access=frozenset({"file", "thresholds"}))

    def _judge_candidates(self, records):
        self._X = records.X
        allowed = self._allow_bytes(records)
        allowance = ThresholdAllowance(allowed)
        groups = read_split_thresholds(self.victim, self._X, self.prior, allowance=allowance)
        self._chosen = allowance.chosen
        rest = self._describe_rest(self._chosen, allowed)
        if rest is not None:
            warnings.warn(f"The thresholds of {rest}", UserWarning, stacklevel=level_of_user())
        self.n_thresholds_ = sum(group.n_thresholds for group in groups)
        explained = sum(group.n_explained for group in groups)
        self.explained_ = explained / max(self.n_thresholds_, 1)
        self._check_explained()
        # Training rows that are not candidates, for each candidate.
        self._others = self.prior * self.outsiders / (1 - self.outsiders)
        self._found, self._parts = pass_messages(groups, len(records), self.prior, self._others)
        self.expected_auc_ = expect_auc(posterior_of(self._found, self.prior))
        return self._found

    def _check_explained(self):
        if self.explained_ >= _LEAST_EXPLAINED or self.outsiders > 0 or not self.n_thresholds_:
            return
        warnings.warn(
            f"No values of the candidates explain {1 - self.explained_:.1%} of the "
            f"{self.n_thresholds_} thresholds of the {type(unwrap(self.victim)).__name__}: it was "
            "trained on rows that are not among the candidates, the candidates are rounded, or the "
            "thresholds were moved. Scores are weaker than they could be; set outsiders to the "
            "share of missing rows, if you know it.",
            UserWarning,
            stacklevel=level_of_user(),
        )

    def _judge_further(self, records):
        found = [
            self._judge_beside(records[rows])
            for rows in np.array_split(np.arange(len(records)), 1 + len(records) // len(self._X))
        ]
        return np.concatenate(found)

    def _judge_beside(self, records):
        allowance = ThresholdAllowance(self._allow_bytes(records), self._chosen)
        groups = read_split_thresholds(self.victim, self._X, self.prior, records.X, allowance)
        n_further = len(records)
        return judge_further(groups, self._found, self._parts, n_further, self.prior, self._others)
