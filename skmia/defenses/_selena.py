"""Self-distillation from models that were not trained on the record (SELENA)."""

from typing import Literal

from joblib import Memory
from sklearn.base import BaseEstimator

from .._core.types import Seed
from ._cross_fit import CrossFitDefense


class SELENADefense(CrossFitDefense):
    """Self-distillation from predictions of models that were not trained on the record.

    Each row is left out of L of K sub-models (Split-AI). The mean prediction of these L sub-models
    becomes its target, and the classifier is trained on the targets (self-distillation). It then
    predicts training rows like the sub-models predict rows that are new to them, which weakens
    attacks that compare members with non-members.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, and a ``fit`` that takes ``sample_weight``; or a skorch net with
        ``criterion=CrossEntropyLoss``. Alone or as the last step of a Pipeline.
    n_estimators : int, default=25
        Number K of sub-models.
    n_left_out : int or "auto", default="auto"
        Number L of sub-models that leave out each row, below K. ``"auto"`` is 10, or half of K if
        this is less.
    store_targets : bool, default=False
        Whether to keep the targets as ``targets_``.
    memory : str, object with the joblib.Memory interface or None, default=None
        Folder that stores the predictions of sub-models for later fits with the same settings. Also
        set ``random_state``. The predictions are private: do not share the folder.
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
        Fitted on the targets.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    targets_ : ndarray of shape (n_samples, n_classes) or None
        Targets, with ``store_targets=True``; without rows of weight 0. Do not publish them.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SoftLabelDefense : Classifier with the same targets for ``alpha=0``.

    Notes
    -----
    Known limitations: a record and its near copies are left out independently, so the target of one
    comes from models that were trained on the others, and the label of a record affects the targets
    of its neighbors. A classifier that memorizes its targets predicts the means of sub-models on
    training rows but not on other rows, which an adaptive attack can detect.

    Here, records with equal features and label are left out together, and records are assigned to
    the sub-models evenly within each class. In the published design, the L sub-models of each
    record are drawn independently. See :class:`SoftLabelDefense` for how classifiers with
    ``sample_weight`` are trained, and for options that count copies of rows.

    References
    ----------
    Tang, X., Mahloujifar, S., Song, L., Shejwalkar, V., Nasr, M., Houmansadr, A. and Mittal, P.
    (2022). Mitigating membership inference attacks by self-distillation through a novel ensemble
    architecture. USENIX Security.

    Aerni, M., Zhang, J. and Tramèr, F. (2024). Evaluations of machine learning privacy defenses are
    misleading. CCS.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.defenses import SELENADefense
    >>> X, y = load_digits(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:600], y[:600])
    >>> defended = SELENADefense(tree, random_state=0).fit(X[:600], y[:600])
    >>> for model in (tree, defended):
    ...     train, test = model.score(X[:600], y[:600]), model.score(X[600:], y[600:])
    ...     print(f"{train:.1f} {test:.1f}")
    1.0 0.7
    0.9 0.7
    """

    # The number of sub-models that leave out a row, and the fewest.
    _usual_left_out = 10, 1

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        n_estimators: int = 25,
        n_left_out: int | Literal["auto"] = "auto",
        store_targets: bool = False,
        memory: str | Memory | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_left_out = n_left_out
        self.store_targets = store_targets
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _combine(self, proba, codes, data):
        return proba.mean(axis=0)
