"""Models of scikit-learn that are dense networks."""

import numpy as np
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor

from ._dense import DenseBox, Layer
from ._heads import LogLossHead, SquaredErrorHead

NAMES = "LogisticRegression, LinearRegression, Ridge, MLPClassifier and MLPRegressor"
FAMILIES = (LogisticRegression, LinearRegression, Ridge, MLPClassifier, MLPRegressor)


def open_sklearn(model, transformers, chunk_size):
    """White box of a model of scikit-learn; None when it is of no family that is known."""
    if isinstance(model, LogisticRegression):
        _check_logistic(model)
        return _open_linear(model, transformers, LogLossHead(model.classes_), chunk_size)
    if isinstance(model, LinearRegression | Ridge):
        return _open_linear(model, transformers, SquaredErrorHead(), chunk_size)
    if isinstance(model, MLPClassifier | MLPRegressor):
        return _open_perceptron(model, transformers, chunk_size)
    return None


def _check_logistic(model):
    # Older versions of scikit-learn have further models under this name.
    n_classes, chosen = len(model.classes_), getattr(model, "multi_class", "deprecated")
    if n_classes > 2 and (chosen == "ovr" or model.solver == "liblinear"):
        raise ValueError(
            "White-box access of LogisticRegression needs the softmax of all classes; this one "
            "is fitted one-vs-rest."
        )
    if n_classes == 2 and chosen == "multinomial":
        raise ValueError(
            "White-box access of LogisticRegression with two classes needs one logit; this one "
            'is fitted with multi_class="multinomial".'
        )


def _open_linear(model, transformers, head, chunk_size):
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=np.float64))
    if head.classes is None and len(coef) > 1:
        raise ValueError(f"White-box access needs one target; the model has {len(coef)}.")
    bias = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    layer = Layer(coef, bias if model.fit_intercept else None, "coef_", "intercept_")
    return DenseBox(model, transformers, head, [layer], "identity", chunk_size)


def _open_perceptron(model, transformers, chunk_size):
    if isinstance(model, MLPClassifier):
        head = LogLossHead(model.classes_)
        if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
            raise ValueError("White-box access needs one label per record; the model has several.")
    else:
        head = SquaredErrorHead()
        if model.n_outputs_ > 1 or getattr(model, "loss", "squared_error") != "squared_error":
            raise ValueError(
                "White-box access of MLPRegressor needs one target and the squared error; the "
                f"model has {model.n_outputs_} and loss={model.loss!r}."
            )
    layers = [
        Layer(W.T.astype(np.float64), b.astype(np.float64), f"coefs_[{i}]", f"intercepts_[{i}]")
        for i, (W, b) in enumerate(zip(model.coefs_, model.intercepts_))
    ]
    return DenseBox(model, transformers, head, layers, model.activation, chunk_size)
