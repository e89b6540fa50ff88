"""Training on soft labels from models that were not trained on the record."""

from collections.abc import Callable
from numbers import Real
from typing import Any, Literal

import numpy as np
from joblib import Memory
from sklearn.base import BaseEstimator

from .._core.numbers import to_array
from .._core.sklearn import Interval, StrOptions, at_least
from .._core.types import Seed
from .._core.user_functions import call_given
from ._cross_fit import CrossFitDefense
from ._soften import SPREADS, move_to_labels


class SoftLabelDefense(CrossFitDefense):
    r"""Classifier trained on soft labels between out-of-sample predictions and the label.

    Sub-models are trained on parts of the rows, so that each row is left out of some of them. The
    mean of their predictions for the row does not depend on its label. From this mean, the soft
    label moves towards the label by ``alpha`` standard deviations of these predictions, and the
    classifier is trained on the soft labels. It can then memorize only these predictions, and with
    a larger ``alpha`` more of the label.

    The smaller ``alpha``, the less remains of labels that no other model would predict: wrong
    labels, and correct labels that are rare.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, and a ``fit`` that takes ``sample_weight``; or a skorch net with
        ``criterion=CrossEntropyLoss``. Alone or as the last step of a Pipeline.
    alpha : float or callable, default=0.0
        Number of standard deviations, 0 or more. With 0 the soft label is the mean answer, with
        ``inf`` the label. A callable takes X and y, without rows of weight 0, and returns a number
        for each row.
    n_estimators : int, default=10
        Number of sub-models in each round.
    n_left_out : int, default=5
        Number of sub-models that each row is left out of, at least 2.
    spread : {"label", "direction", "coordinate"}, default="label"
        What has the standard deviation (divisor ``n_left_out``): the probability of the label; the
        projection of the answer on the line from the mean to the label; or the probability of each
        class separately, which leaves that line and needs to be cut and normalized.
    n_iterations : int, default=1
        Number of rounds. From the second on the sub-models are trained on the soft labels of the
        round before, and so pass on less of the labels of other rows. It need not help: classifiers
        that memorize their targets may become easier to attack.
    store_targets : bool, default=False
        Whether to keep the soft labels as ``targets_``.
    memory : str, object with the joblib.Memory interface or None, default=None
        Folder that keeps the answers of sub-models, so that a search over ``alpha`` trains them
        once in each fold. Set ``random_state`` too. They are private: keep the folder to yourself.
    n_jobs : int, default=None
        Sub-models trained in parallel; nets and perceptrons that one program trains together are
        not divided. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are left out, and the seeds of the sub-models and the classifier.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the soft labels.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    targets_ : ndarray of shape (n_samples, n_classes) or None
        Soft labels, with ``store_targets=True``; without rows of weight 0. They reveal what the
        defense hides: do not publish them.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SELENADefense : Classifier trained on the means, with more sub-models.
    LabelSmoothingDefense : Classifier that softens all labels equally, without sub-models.

    Notes
    -----
    With answers :math:`P_1, ..., P_K` of the K sub-models that a row is left out of, their mean
    :math:`\mu` and the one-hot label :math:`e_y`, the soft label is :math:`\mu + t(e_y - \mu)`
    with :math:`t = \min(1, \alpha \, sd(P_{\cdot y}) / (1 - \mu_y))`, where sd has the divisor
    K. The slides say "standard deviations towards the label" and not of what; here the probability
    of the label rises by so many of its own. Where all K agree, t is 0 for every finite ``alpha``.

    Equal rows with equal labels are left out together. No part of a soft label comes from a model
    that was trained on the row, but the label of a row still reaches the soft labels of others, and
    a classifier that memorizes its targets answers otherwise to rows that it has no targets
    of. Nothing is promised: judge the defense with shadow models that are trained with it, and on
    the rows that are most exposed, such as mislabeled ones.

    Classifiers with ``sample_weight`` get a copy of each row for each class, weighted by the soft
    label. Where the loss is a sum over rows this is the cross-entropy with the soft labels. Options
    that count rows count copies: ``class_weight="balanced"``, the least size of a leaf, bootstrap
    samples, mini-batches, rows held back for early stopping or calibration. A net takes the soft
    labels as they are; its ``valid_acc`` is then measured against their likeliest class.

    Transformers before the classifier in a Pipeline are fitted once, on plain rows and labels: one
    that looks at labels sees the hard ones.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skmia.defenses import SoftLabelDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> y[:10] = 2  # wrong
    >>> defended = SoftLabelDefense(LogisticRegression(max_iter=500), alpha=1.0, random_state=0)
    >>> defended.fit(X, y).predict(X[:10])
    array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    """

    _parameter_constraints = {
        **CrossFitDefense._parameter_constraints,
        "alpha": [Interval(Real, 0, np.inf, closed="both"), callable],
        "n_left_out": [at_least(2)],
        "spread": [StrOptions(set(SPREADS))],
        "n_iterations": [at_least(1)],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        alpha: float | Callable[..., Any] = 0.0,
        n_estimators: int = 10,
        n_left_out: int = 5,
        spread: Literal["label", "direction", "coordinate"] = "label",
        n_iterations: int = 1,
        store_targets: bool = False,
        memory: str | Memory | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.n_left_out = n_left_out
        self.spread = spread
        self.n_iterations = n_iterations
        self.store_targets = store_targets
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _combine(self, proba, codes, data):
        return move_to_labels(proba, codes, self._compute_alpha(data), self.spread)

    def _compute_alpha(self, data):
        if not callable(self.alpha):
            return self.alpha
        alpha = call_given(self.alpha, "alpha", "f(X, y)", data.X, data.y)
        alpha = to_array(alpha, "What alpha(X, y) returns", "hold numbers", np.float64)
        if alpha.shape != data.y.shape or not (alpha >= 0).all():
            raise ValueError(
                f"alpha(X, y) must return {len(data.y)} numbers of 0 or more, one for each row; "
                f"got {alpha!r:.80}."
            )
        return alpha
