"""Defense that returns labels only."""

from sklearn.base import BaseEstimator

from ._base import OutputDefense


class LabelOnlyDefense(OutputDefense):
    """Classifier that returns the predicted label and no probability.

    There is no ``predict_proba``: tools that need one refuse it. Labels alone still leak membership
    if the classifier is correct more often on members.

    Parameters
    ----------
    estimator : classifier
        Unfitted classifier, or a fitted one in a :class:`~sklearn.frozen.FrozenEstimator`.

    Attributes
    ----------
    estimator_ : classifier
        Fitted.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features seen in ``fit``.

    References
    ----------
    Choquette-Choo, C. A., Tramer, F., Carlini, N. and Papernot, N. (2021). Label-only membership
    inference attacks. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from skmia.defenses import LabelOnlyDefense
    >>> X, y = load_iris(return_X_y=True)
    >>> defended = LabelOnlyDefense(GaussianNB()).fit(X, y)
    >>> hasattr(defended, "predict_proba")
    False
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator
