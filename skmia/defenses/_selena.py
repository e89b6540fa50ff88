"""Self-distillation from sub-models that never saw the record."""

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
    n_left_out : int, default=10
        Number L of sub-models that leave out each row, below K.
    store_targets : bool, default=False
        Whether to keep the targets as ``targets_``.
    memory : str, object with the joblib.Memory interface or None, default=None
        Folder that keeps the answers of sub-models for later fits with the same settings. Set
        ``random_state`` too. They are private: keep the folder to yourself.
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
    Known limitation: a record and its near copies are left out independently, so the prediction for
    one comes from models that were trained on the others, and the label of a record reaches the
    targets of its neighbors. A classifier that memorizes its targets predicts means of sub-models
    on training rows but not on other rows, which an adaptive attack can detect. Attacks of this
    kind on the most exposed records found an order of magnitude more than had been published, and
    DP-SGD that was tuned for accuracy did better.

    Here, records with equal features and label are left out together, and records are assigned to
    the sub-models evenly within each class. In the published design, the L sub-models of each
    record are drawn independently.

    How classifiers with ``sample_weight`` are trained, and what counts copies of rows, is said in
    :class:`SoftLabelDefense`.

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
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:900], y[:900])
    >>> defended = SELENADefense(tree, random_state=0).fit(X[:900], y[:900])
    >>> for model in (tree, defended):
    ...     train, test = model.score(X[:900], y[:900]), model.score(X[900:], y[900:])
    ...     print(f"{train:.1f} {test:.1f}")
    1.0 0.8
    0.9 0.8
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        n_estimators: int = 25,
        n_left_out: int = 10,
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
