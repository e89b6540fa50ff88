"""Classifiers that are trained by a function, such as a training loop in torch."""

import sys
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._core.containers import as_rows, take_rows
from .._core.groups import check_class_labels, locate_labels
from .._core.numbers import show, to_array
from .._core.outputs import Outputs
from .._core.sklearn import StrOptions, at_least
from .._core.trained_modules import list_held_models, refuse_held_model
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Rows, Seed
from .._core.validation import call_given


class FunctionClassifier(TransactionMixin, ClassifierMixin, BaseEstimator):
    """Classifier whose training is a function, such as a training loop in torch.

    It makes any training loop an estimator: a victim of attacks, which shadow models are trained
    like, and a part of Pipelines and searches. Shadow models call the function with their rows and
    their own seed.

    Parameters
    ----------
    train : callable
        Function ``train(X, y, seed)`` that returns a trained model of any kind, a new one in each
        call. ``y`` holds the numbers of the classes from 0, dtype int64, and ``seed`` is an int. To
        train in several processes or with a checkpoint, define it in a module or script, not in a
        loop.
    forward : callable, default=None
        Function ``forward(model, X)`` that returns an array of shape (n_rows, n_classes) for at
        most ``batch_size`` rows. If None, the model is a torch module, which is called in
        evaluation mode on its device, or a function of X.
    kind : {"logits", "proba"}, default="logits"
        Kind of these outputs. A single column of logits belongs to class 1 of two.
    classes : array-like of shape (n_classes,), default=None
        Labels of the outputs, in order. If None, the sorted labels in ``fit``: pass them if a
        training set may lack a class.
    batch_size : int, default=1000
        Maximum number of rows that are predicted at once.
    random_state : int, RandomState instance or None, default=None
        Controls the seed that `train` gets. A pool also seeds the global generators of Python,
        numpy and torch for each shadow model, and restores them afterwards; ``fit`` does neither.

    Attributes
    ----------
    model_ : object
        What ``train`` returned.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of columns of X, if it is a matrix.

    Raises
    ------
    ValueError
        If an output has the wrong shape, a label is not among the classes, or ``train`` returns a
        model that existed before the call.

    See Also
    --------
    CallableVictim : A model that can only be queried.
    skmia.ShadowPool.from_models : Makes a pool of models that are trained already.

    Notes
    -----
    A torch module that returns logits can be opened as a white box, with the cross entropy as its
    loss, whatever it was trained with.

    Examples
    --------
    >>> import torch
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.victims import FunctionClassifier
    >>> def train(X, y, seed):
    ...     torch.manual_seed(seed)
    ...     net = torch.nn.Linear(X.shape[1], 2)
    ...     optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    ...     for _ in range(20):
    ...         loss = torch.nn.functional.cross_entropy(net(torch.tensor(X)), torch.tensor(y))
    ...         optimizer.zero_grad()
    ...         loss.backward()
    ...         optimizer.step()
    ...     return net
    >>> records, membership = make_membership_problem(200, random_state=0)
    >>> members = records[membership == 1]
    >>> victim = FunctionClassifier(train, random_state=0).fit(members.X, members.y)
    >>> victim.query(members.X)
    Outputs(100 answers, kind='logits', classes=[0, 1])
    >>> ShadowPool(victim, n_estimators=4, random_state=0).fit(records).transform(records).shape
    (200, 4)
    """

    _parameter_constraints = {
        "train": [callable],
        "forward": [callable, None],
        "kind": [StrOptions({"logits", "proba"})],
        "classes": ["array-like", None],
        "batch_size": [at_least(1)],
        "random_state": ["random_state"],
    }

    # Queries of victims take the outputs of this method, with logits, instead of probabilities.
    answers_queries = True

    def __init__(
        self,
        train: Callable[..., Any],
        forward: Callable[..., ArrayLike] | None = None,
        *,
        kind: Literal["logits", "proba"] = "logits",
        classes: ArrayLike | None = None,
        batch_size: int = 1000,
        random_state: Seed = None,
    ) -> None:
        self.train = train
        self.forward = forward
        self.kind = kind
        self.classes = classes
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: Rows, y: ArrayLike) -> Self:
        """Train a model by the function.

        Parameters
        ----------
        X : array-like of n rows
            Rows, passed on as they are.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = as_rows(X), to_array(y, "y", "hold one label for each row")
        if y.shape != (X.shape[0],):
            raise ValueError(f"X has {X.shape[0]} rows and y has the shape {y.shape}.")
        check_classification_targets(y)
        self.classes_ = np.unique(y) if self.classes is None else check_class_labels(self.classes)
        numbers, known = locate_labels(self.classes_, y)
        if not known.all():
            first = show(y[~known].tolist()[0])
            raise ValueError(f"y holds the label {first}, which is not among the classes.")
        if len(X.shape) == 2:
            self.n_features_in_ = X.shape[1]
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        given = X, numbers.astype(np.int64), seed
        held = list_held_models(self.train)
        self.model_ = call_given(self.train, "train", "f(X, y, seed)", *given)
        refuse_held_model(self.model_, held, "train")
        if self.forward is None and not callable(self.model_):
            raise TypeError(
                "train must return a torch module or a function of rows, or set forward; got "
                f"{show(self.model_)}."
            )
        return self

    def query(self, X: Rows) -> Outputs:
        """Return the outputs of the model, as attacks read them.

        Parameters
        ----------
        X : array-like of n rows
            Rows.

        Returns
        -------
        outputs : Outputs of n answers
        """
        check_is_fitted(self)
        X = as_rows(X)
        batches = gen_batches(X.shape[0], self.batch_size) if X.shape[0] else ()
        parts = [self._ask(take_rows(X, rows)) for rows in batches]
        values = np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))
        return Outputs(values, self.classes_, self.kind)

    def _ask(self, X):
        forward = _forward_module if is_module(self.model_) else lambda model, X: model(X)
        values = call_given(self.forward or forward, "forward", "f(model, X)", self.model_, X)
        values = to_array(values, "What the model answers", "be a matrix")
        n_rows, n_classes = X.shape[0], len(self.classes_)
        if self.kind == "logits" and n_classes == 2 and values.size == n_rows:
            values = np.column_stack([np.zeros_like(values.ravel()), values.ravel()])
        if values.shape != (n_rows, n_classes):
            raise ValueError(
                f"The model must return {n_rows} rows and {n_classes} classes with an array of "
                f"shape {(n_rows, n_classes)}; got {values.shape}. If a class is missing in y, "
                "set classes."
            )
        return values

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the class probabilities.

        Parameters
        ----------
        X : array-like of n rows
            Rows.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
        """
        values = self.query(X).values
        return softmax(values.astype(np.float64), axis=1) if self.kind == "logits" else values

    def predict(self, X: Rows) -> np.ndarray:
        """Return most probable label of each row.

        Parameters
        ----------
        X : array-like of n rows
            Rows.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        values = self.query(X).values
        return self.classes_[values.argmax(axis=1)]


def is_module(model):
    """Return whether a model is a torch module; torch is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def has_logits_of_module(model):
    """Return whether a model is a fitted classifier of a torch module whose outputs are logits."""
    is_plain = isinstance(model, FunctionClassifier) and model.forward is None
    return is_plain and model.kind == "logits" and is_module(getattr(model, "model_", None))


def _forward_module(module, X):
    from ._white_box._torch_passes import evaluating, to_device

    with evaluating(module, with_gradients=False):
        found = module(to_device(X, module))
    found = found[0] if isinstance(found, tuple) else found
    return found.detach().float().cpu().numpy()
