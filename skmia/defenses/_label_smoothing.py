"""Label smoothing: training on labels that are softened by a constant."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._core.sklearn import Interval
from ._soft_meta import SoftTargetDefense, one_hot


class LabelSmoothingDefense(SoftTargetDefense):
    """Classifier trained on labels that give an equal share to all classes.

    It limits the confidence of a classifier, also on its training rows. It is a common regularizer,
    and a baseline for defenses that choose soft labels record by record.

    Parameters
    ----------
    estimator : classifier
        Classifier whose ``fit`` takes ``sample_weight``, or a skorch net with
        ``criterion=CrossEntropyLoss``. Alone or as the last step of a Pipeline.
    smoothing : float, default=0.1
        Share in [0, 1] that is divided among all C classes: the target is ``1 - smoothing`` for
        the label, and ``smoothing / C`` is added to every class.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the soft labels.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SoftLabelDefense : Classifier that softens a label as far as other models disagree with it.

    Notes
    -----
    Known limitation: the predictions for all training rows are pulled towards the same target,
    which an attack with shadow models trained in the same way can recognize, and smoothed labels
    were found to help model inversion attacks, which reconstruct inputs of a class.

    How classifiers with ``sample_weight`` are trained, and what counts copies of rows, is said in
    :class:`SoftLabelDefense`.

    References
    ----------
    Szegedy, C., Vanhoucke, V., Ioffe, S., Shlens, J. and Wojna, Z. (2016). Rethinking the Inception
    architecture for computer vision. CVPR.

    Struppek, L., Hintersdorf, D. and Kersting, K. (2024). Be careful what you smooth for: label
    smoothing can be a privacy shield but also a catalyst for model inversion attacks. ICLR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia.defenses import LabelSmoothingDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> LabelSmoothingDefense(tree, smoothing=0.3).fit(X, y).predict_proba(X[:1])
    array([[0.8, 0.1, 0.1]])
    """

    _parameter_constraints = {
        **SoftTargetDefense._parameter_constraints,
        "smoothing": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, estimator: BaseEstimator, *, smoothing: float = 0.1) -> None:
        self.estimator = estimator
        self.smoothing = smoothing

    def _fit_targets(self, data):
        classes = np.unique(data.y)
        labels = one_hot(data.y, classes)
        targets = (1 - self.smoothing) * labels + self.smoothing / len(classes)
        self.estimator_ = data.fit(clone(self.estimator), targets, classes)
