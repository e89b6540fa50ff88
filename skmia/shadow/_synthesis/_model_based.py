"""Synthetic records found by querying the victim."""

import warnings
from numbers import Real

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..._core.asking import check_victim
from ..._core.numbers import check_count, show, to_array
from ..._core.records import Records
from ..._core.sklearn import Interval, at_least
from ..._core.types import Seed
from ._base import Synthesizer
from ._search import HillClimb, SearchSettings


def check_size(n_samples):
    return check_count(n_samples, "n_samples")


def warn_short(report, why, stacklevel=3):
    """Warn the caller of ``sample`` about classes with fewer records than requested."""
    short = report.index[report["n_made"] < report["n_wanted"]].tolist()
    if short:
        shown = ", ".join(map(repr, short[:10])) + (", ..." if len(short) > 10 else "")
        warnings.warn(
            f"{len(short)} of {len(report)} classes have fewer records than requested, {why}: "
            f"{shown}; see report_.",
            stacklevel=stacklevel,
        )


class ModelBasedSynthesizer(Synthesizer):
    """Synthesizer that searches for records by querying the victim, without real records.

    A search starts at a random record and changes a few features at a time. It keeps a change that
    does not lower the victim's probability of the wanted class, and ends with a record that the
    victim classifies with confidence. Such records resemble the victim's training data enough to
    train shadow models.

    Parameters
    ----------
    victim : fitted classifier
        Model under attack, in a :class:`~sklearn.frozen.FrozenEstimator`. It must give
        probabilities.
    min_confidence : float, default=0.2
        A record is accepted only if the victim's probability of its class exceeds this value and
        the probability of any other class, and then with that probability.
    max_changes : int, default=None
        Number of features that are redrawn per step at first. If None, a quarter of them.
    min_changes : int, default=1
        Minimum number of features that are redrawn per step.
    max_rejections : int, default=10
        Number of consecutive rejected steps after which the number of changed features is halved.
    max_iter : int, default=1000
        Number of steps after which a search has failed.
    max_failures : int, default=10
        Number of failed searches per successful one, plus one, after which a class is given up.
    class_prior : array-like of shape (n_classes,), default=None
        Shares of the classes among the records. If None, they are equal.
    batch_size : int, default=1000
        Number of parallel searches, which share one query of the victim per step.
    random_state : int, RandomState instance or None, default=None
        Controls all draws. Each call of ``sample`` returns new records.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes of the victim.
    n_queries_ : int
        Number of records with which the victim was queried since ``fit``.
    report_ : DataFrame
        One row per class, set by ``sample``: ``n_wanted``, ``n_made``, ``n_failed`` (searches) and
        ``n_queries``.

    Raises
    ------
    ValueError
        If the victim gives no probabilities, or no record was found for any class.

    Warns
    -----
    UserWarning
        If a class has fewer records than requested.

    See Also
    --------
    MarginalSynthesizer : Synthesizer that needs the distribution of each feature and fewer queries.
    NoisyRecords : Synthesizer that changes some features of real records.

    Notes
    -----
    ``fit`` reads from the records only what each feature can be: any value seen for text and
    categories, any whole number between the smallest and the largest, any real number in between
    where one is not whole, and two values where there are only two. Two records that show the
    limits serve as well as a thousand.

    The count of rejections restarts whenever a change is kept; the slides that retell the
    algorithm print the counter of the steps there.

    Columns that only make sense together, such as a one-hot encoded feature, are not kept
    consistent. Encode inside the victim's Pipeline.

    References
    ----------
    Shokri, R., Stronati, M., Song, C. and Shmatikov, V. (2017). Membership inference attacks
    against machine learning models. IEEE S&P, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.neural_network import MLPClassifier
    >>> from skmia import Records, ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import ModelBasedSynthesizer
    >>> records, _ = make_membership_problem(300, n_classes=3, kind="baskets", random_state=0)
    >>> net = MLPClassifier((16,), solver="lbfgs", random_state=0).fit(records.X, records.y)
    >>> limits = Records(np.array([[0] * 20, [1] * 20], dtype=np.float32))
    >>> synthesizer = ModelBasedSynthesizer(FrozenEstimator(net), random_state=0).fit(limits)
    >>> made = synthesizer.sample(90)
    >>> made
    Records(90 records, X=ndarray(90, 20), float32, y=int64)
    >>> synthesizer.report_["n_made"].tolist()
    [30, 30, 30]
    >>> pool = ShadowPool(net, 4, store="outputs", random_state=0).fit(made)
    """

    _parameter_constraints = {
        "victim": "no_validation",
        "min_confidence": [Interval(Real, 0, 1, closed="left")],
        "max_changes": [at_least(1), None],
        "min_changes": [at_least(1)],
        "max_rejections": [at_least(0)],
        "max_iter": [at_least(1)],
        "max_failures": [at_least(1)],
        "class_prior": ["array-like", None],
        "batch_size": [at_least(1)],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        victim: BaseEstimator | None = None,
        *,
        min_confidence: float = 0.2,
        max_changes: int | None = None,
        min_changes: int = 1,
        max_rejections: int = 10,
        max_iter: int = 1000,
        max_failures: int = 10,
        class_prior: ArrayLike | None = None,
        batch_size: int = 1000,
        random_state: Seed = None,
    ) -> None:
        self.victim = victim
        self.min_confidence = min_confidence
        self.max_changes = max_changes
        self.min_changes = min_changes
        self.max_rejections = max_rejections
        self.max_iter = max_iter
        self.max_failures = max_failures
        self.class_prior = class_prior
        self.batch_size = batch_size
        self.random_state = random_state

    def _needs_labels(self):
        return False

    def _fit(self, records):
        check_victim(self.victim)
        n_features = self._table.n_features
        first = -(-n_features // 4) if self.max_changes is None else self.max_changes
        if not min(self.min_changes, n_features) <= first <= n_features:
            raise ValueError(
                f"max_changes must be between min_changes={self.min_changes} and the "
                f"{n_features} features; got {first}."
            )
        self._settings = SearchSettings(
            self.min_confidence,
            first,
            min(self.min_changes, first),
            self.max_rejections,
            self.max_iter,
        )
        outputs = self._ask(self._table.codes[:1])
        if outputs.kind not in ("proba", "logits"):
            raise ValueError(
                f"The search needs a victim with probabilities; this one returns {outputs.kind!r}."
            )
        self.classes_ = outputs.classes
        self._shares = self._check_prior()

    def _check_prior(self):
        n_classes = len(self.classes_)
        if self.class_prior is None:
            return np.full(n_classes, 1 / n_classes)
        prior = to_array(
            self.class_prior, "class_prior", "hold one share for each class", np.float64
        )
        if prior.shape != (n_classes,) or prior.min() < 0 or not np.isclose(prior.sum(), 1):
            raise ValueError(
                f"class_prior needs a share for each of {n_classes} classes, with sum 1; "
                f"got {show(self.class_prior)}."
            )
        return prior

    def sample(self, n_samples: int = 1) -> Records:
        """Search for records.

        Parameters
        ----------
        n_samples : int, default=1
            Number of records over all classes.

        Returns
        -------
        records : Records
            In the form of those given to ``fit``, with the wanted class as y, class by class; fewer
            than ``n_samples`` if the search for a class fails.
        """
        check_is_fitted(self)
        wanted = self._count_wanted(check_size(n_samples))
        codes, labels = self._search(wanted)
        if len(labels) == 0:
            raise ValueError(
                f"No record was found for any of {len(self.classes_)} classes with "
                f"{int(self.report_['n_queries'].sum())} queries; allow a lower min_confidence or "
                "a larger max_iter."
            )
        warn_short(self.report_, "because the searches for more of them failed")
        order = np.argsort(labels, kind="stable")
        return Records(self._table.decode(codes[order]), self.classes_[labels[order]])

    def _count_wanted(self, n_samples):
        """Return the number of records per class, rounded so that their sum is correct."""
        ends = np.rint(np.cumsum(self._shares) * n_samples).astype(np.intp)
        return np.diff(ends, prepend=0)

    def _search(self, wanted):
        made, failed, asked = (np.zeros(len(wanted), dtype=np.intp) for _ in range(3))
        climb = HillClimb(self._table, self._ask_proba, self._settings, self._rng)
        codes, labels = [self._table.codes[:0]], [np.empty(0, dtype=np.intp)]
        while True:
            climb.start(self._choose_targets(climb.target, wanted, made, failed))
            if len(climb.target) == 0:
                break
            asked += np.bincount(climb.target, minlength=len(wanted))
            some, found, ended = climb.step()
            codes.append(some)
            labels.append(found)
            made += np.bincount(found, minlength=len(wanted))
            failed += np.bincount(ended, minlength=len(wanted))
        columns = {"n_wanted": wanted, "n_made": made, "n_failed": failed, "n_queries": asked}
        self.report_ = pd.DataFrame(columns, index=pd.Index(self.classes_, name="class"))
        return np.concatenate(codes), np.concatenate(labels)

    def _ask_proba(self, codes):
        outputs = self._ask(codes)
        return outputs.values if outputs.kind == "proba" else np.exp(outputs.log_proba())

    def _choose_targets(self, running, wanted, made, failed):
        """Choose the classes of the next searches, up to the batch size."""
        running = np.bincount(running, minlength=len(wanted))
        # At most as many searches run at once as may fail, so that an unreachable class costs
        # little; a reachable class soon gets all the searches that it needs.
        allowed = self.max_failures * (made + 1) - failed - running
        missing = np.minimum(wanted - made - running, allowed)
        room = self.batch_size - running.sum()
        targets = np.repeat(np.arange(len(wanted)), np.maximum(missing, 0))
        if len(targets) > room:
            # Classes take turns, so that none waits for the end of another.
            turn = np.concatenate([np.arange(n) for n in np.maximum(missing, 0)])
            targets = targets[np.argsort(turn, kind="stable")[: max(room, 0)]]
        return targets
