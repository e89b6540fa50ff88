"""Unlearning methods (ways of forgetting) of :func:`skmia.games.unlearning_game`, a class each."""

import copy
import inspect
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._core.caches import clone_to_train
from .._core.containers import as_rows, take_rows
from .._core.copies import CopiesParameters, copy_unfitted
from .._core.kinds import is_regressor
from .._core.outputs import Outputs
from .._core.query import get_last_step, query_aligned, query_victim, take_first_steps, unwrap
from .._core.randomness import check_random_state, seed_estimator
from .._core.records import Records, has_column
from .._core.sample_weights import fit_weighted, weights_for
from .._core.sklearn import Interval, at_least, validate_parameter_constraints
from .._core.skorch_nets import is_skorch
from .._core.targets import shape_targets
from .._core.transactions import TransactionMixin
from .._core.types import Generator
from .._core.writers import silence_fitted
from ..exceptions import TrainingError

__all__ = [
    "SISA",
    "FineTuning",
    "NegativeWeights",
    "NoUnlearning",
    "Relabeling",
    "Retraining",
    "WeightNoise",
]


class Forgetting(ABC):
    """Base class of ready unlearning methods, which are functions with three more methods."""

    _parameter_constraints: ClassVar[dict] = {}

    def validate(self) -> None:
        """Check the parameters.

        Raises
        ------
        InvalidParameterError
            If a value is not allowed.
        """
        name = type(self).__name__
        validate_parameter_constraints(self._parameter_constraints, vars(self), name)

    def prepare(self, estimator: BaseEstimator) -> BaseEstimator:
        """Return the estimator that is trained in the place of the given one.

        Parameters
        ----------
        estimator : estimator
            Estimator of the models, not fitted.

        Returns
        -------
        estimator : estimator
            The same one, unless forgetting takes another kind of model.
        """
        return estimator

    def why_not(self, estimator: BaseEstimator) -> str | None:
        """Say why models of an estimator cannot forget in this way, before any is trained.

        Parameters
        ----------
        estimator : estimator
            Estimator of the models, not fitted.

        Returns
        -------
        reason : str or None
            None if they can.
        """
        return self._why_not(estimator)

    @staticmethod
    def _why_not(estimator):
        return None

    def __call__(
        self, model: Any, records: Records, keep: np.ndarray, forget: np.ndarray, rng: Generator
    ) -> Any:
        """Return a model that should be as if it had been trained on the kept records alone."""
        self.validate()
        return self._forget(model, records, keep, forget, rng)

    @abstractmethod
    def _forget(self, model, records, keep, forget, rng):
        """Return the model after unlearning."""


_INSTEAD = "Pass a function unlearn(model, records, keep, forget, rng) instead."


def why_not_further(estimator):
    """Return why an estimator cannot be trained further, or None."""
    last = get_last_step(estimator)
    if is_skorch(last):
        return None
    if hasattr(last, "partial_fit"):
        if getattr(last, "early_stopping", False) is not True:
            return None
        return (
            f"partial_fit of {type(last).__name__} takes no early_stopping=True. Set it to False, "
            f"or {_INSTEAD[0].lower()}{_INSTEAD[1:]}"
        )
    return (
        f"it needs a model that can be trained further, a net of skorch or an estimator with "
        f"partial_fit; got {type(last).__name__}. {_INSTEAD}"
    )


def why_not_back(estimator):
    """Return why an estimator cannot take steps in the opposite direction, or None."""
    last = get_last_step(estimator)
    if why_not_further(estimator) or is_skorch(last):
        return why_not_further(estimator)
    if isinstance(last, MLPClassifier | MLPRegressor):
        return (
            f"{type(last).__name__} divides by the sum of the weights, so negative ones have no "
            f"effect. Use a net of skorch, or pass a function unlearn instead."
        )
    if "sample_weight" in inspect.signature(last.partial_fit).parameters:
        return None
    return f"partial_fit of {type(last).__name__} takes no sample_weight. {_INSTEAD}"


def _transform(model, X):
    """Return rows as the last step of a Pipeline gets them."""
    while isinstance(model, Pipeline):
        X = take_first_steps(model).transform(X) if len(model) > 1 else X
        model = unwrap(model[-1])
    return X


def train_further(model, X, y, n_epochs, rng, whole=False):
    """Train a model further, in place, by passes over rows in random order.

    A net of skorch sets rows apart for validation as in its training, unless it is to learn all.
    Callbacks that would end or undo the passes, or look for rows set apart, take no part.
    """
    last, X = get_last_step(model), _transform(model, X)
    if is_skorch(last):
        silence_fitted(last)
        y = shape_targets(last, X, y)
        split, callbacks = last.train_split, last.callbacks_
        last.train_split = None if whole else split
        last.callbacks_ = [one for one in callbacks if not _looks_at_scores(one[1], whole)]
        last.partial_fit(X, y, epochs=n_epochs)
        last.train_split, last.callbacks_ = split, callbacks
        return
    for _ in range(n_epochs):
        order = rng.permutation(len(y))
        last.partial_fit(take_rows(X, order), y[order])


def _looks_at_scores(callback, whole):
    """Return whether a callback of skorch ends or undoes passes, or needs rows set apart."""
    from skorch.callbacks import EarlyStopping

    if isinstance(callback, EarlyStopping) or getattr(callback, "load_best", False):
        return True
    return whole and getattr(callback, "monitor", None) not in (None, "train_loss")


def learn_kept(model, records, keep, n_epochs, rng):
    """Train a model further, in place, on the records that stay, and return it."""
    train_further(model, take_rows(records.X, keep), records.y[keep], n_epochs, rng)
    return model


def step_back(model, X, y, rng):
    """Pass once over rows with weight -1, in place."""
    last, X = get_last_step(model), _transform(model, X)
    order = rng.permutation(len(y))
    X, y = take_rows(X, order), y[order]
    if is_skorch(last):
        _climb(last, X, shape_targets(last, X, y))
    else:
        last.partial_fit(X, y, sample_weight=-np.ones(len(y)))


def _climb(net, X, y):
    """One epoch of a net with minus its loss."""
    from skorch.dataset import unpack_data

    net.module_.train()
    for batch in net.get_iterator(net.get_dataset(X, y), training=True):
        Xi, yi = unpack_data(batch)
        net.optimizer_.zero_grad()
        loss = -net.get_loss(net.infer(Xi), yi, X=Xi, training=True)
        loss.backward()
        net.optimizer_.step()


@dataclass(frozen=True)
class FineTuning(Forgetting):
    """Train the model further on the remaining records, in the hope that it forgets the others.

    It is ``unlearn="finetune"`` of :func:`~skmia.games.unlearning_game`. The model is a net of
    skorch, or an estimator or the last step of a Pipeline with ``partial_fit``.

    Parameters
    ----------
    n_epochs : int, default=10
        Number of passes over the records that stay.

    See Also
    --------
    NegativeWeights : Takes steps against the forgotten records first.
    """

    n_epochs: int = 10

    _parameter_constraints = {"n_epochs": [at_least(1)]}
    _why_not = staticmethod(why_not_further)

    def _forget(self, model, records, keep, forget, rng):
        return learn_kept(copy.deepcopy(unwrap(model)), records, keep, self.n_epochs, rng)


@dataclass(frozen=True)
class NegativeWeights(Forgetting):
    """Pass once over the forgotten records with weight -1, then train on the remaining records.

    It is ``unlearn="negative"`` of :func:`~skmia.games.unlearning_game`. The first pass increases
    the loss of the forgotten records (gradient ascent). The model is a net of skorch, or an
    estimator or the last step of a Pipeline whose ``partial_fit`` takes ``sample_weight``.

    Parameters
    ----------
    n_epochs : int, default=1
        Number of passes over the records that stay, afterwards.

    See Also
    --------
    Relabeling : Trains on random labels instead.
    """

    n_epochs: int = 1

    _parameter_constraints = {"n_epochs": [at_least(0)]}
    _why_not = staticmethod(why_not_back)

    def _forget(self, model, records, keep, forget, rng):
        model = copy.deepcopy(unwrap(model))
        step_back(model, take_rows(records.X, forget), records.y[forget], rng)
        return learn_kept(model, records, keep, self.n_epochs, rng)


@dataclass(frozen=True)
class NoUnlearning(Forgetting):
    """Forget nothing: the model is unchanged, which a game must detect.

    It is ``unlearn="noop"`` of :func:`~skmia.games.unlearning_game`.

    See Also
    --------
    Retraining : The opposite, which a game must not find.
    """

    def _forget(self, model, records, keep, forget, rng):
        return model


@dataclass(frozen=True)
class Relabeling(Forgetting):
    """Train the model on the forgotten records with random labels, then on the remaining records.

    It is ``unlearn="relabel"`` of :func:`~skmia.games.unlearning_game`. The labels are drawn from
    the labels of the records that stay. The model is a net of skorch, or an estimator or the last
    step of a Pipeline with ``partial_fit``.

    Parameters
    ----------
    n_wrong : int, default=1
        Number of passes over the forgotten records, with the same random labels.
    n_epochs : int, default=2
        Number of passes over the records that stay, afterwards.

    See Also
    --------
    NegativeWeights : Keeps the labels and reverses the steps.
    """

    n_wrong: int = 1
    n_epochs: int = 2

    _parameter_constraints = {"n_wrong": [at_least(1)], "n_epochs": [at_least(0)]}
    _why_not = staticmethod(why_not_further)

    def _forget(self, model, records, keep, forget, rng):
        model = copy.deepcopy(unwrap(model))
        wrong = rng.choice(records.y[keep], len(forget))
        train_further(model, take_rows(records.X, forget), wrong, self.n_wrong, rng, whole=True)
        return learn_kept(model, records, keep, self.n_epochs, rng)


def train_again(model, records, rows, rng):
    """Train a clone of a model on some records, with new seeds."""
    fresh = clone_to_train(unwrap(model))
    seed_estimator(fresh, np.random.SeedSequence(rng.integers(2**32, size=4).tolist()))
    weights = weights_for(fresh, records)
    weights = None if weights is None else weights[rows]
    X = take_rows(records.X, rows)
    y = shape_targets(fresh, X, records.y[rows], has_column(records))
    return fit_weighted(fresh, X, y, weights)


@dataclass(frozen=True)
class Retraining(Forgetting):
    """Forget by training a new model on the remaining records: exact, and the control of a game.

    It is ``unlearn="retrain"`` of :func:`~skmia.games.unlearning_game`.

    See Also
    --------
    SISA : Exact as well, at a part of the cost.
    """

    def _forget(self, model, records, keep, forget, rng):
        return train_again(model, records, keep, rng)


def place_in_shards(records, n_shards):
    """Shard of each record, by its content, so that it does not depend on other records."""
    return (records.fingerprint % np.uint64(n_shards)).astype(int)


class ShardedModel(TransactionMixin, CopiesParameters, BaseEstimator):
    """Average of models that are each trained on one shard of the rows."""

    answers_queries = True

    def __init__(self, estimator, n_shards, random_state=None):
        self.estimator = estimator
        self.n_shards = n_shards
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Train a model on each shard that has rows."""
        X, y = as_rows(X), np.asarray(y)
        records = Records(X, y)
        self.fingerprints_ = records.fingerprint
        shards = place_in_shards(records, self.n_shards)
        states = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_shards)
        self.models_ = {}
        for shard in np.unique(shards).tolist():
            rows = np.flatnonzero(shards == shard)
            model = copy_unfitted(self.estimator)
            seed_estimator(model, np.random.SeedSequence(int(states[shard])))
            weights = None if sample_weight is None else np.asarray(sample_weight)[rows]
            with _named(shard, y[rows]):
                self.models_[shard] = fit_weighted(model, take_rows(X, rows), y[rows], weights)
        self._set_classes()
        return self

    def _set_classes(self):
        known = [model.classes_ for model in self.models_.values() if hasattr(model, "classes_")]
        if known:
            self.classes_ = np.unique(np.concatenate(known))

    def replace(self, models):
        """Return a copy with other models of some shards; None removes a shard."""
        changed = copy.copy(self)
        models = (self.models_ | models).items()
        changed.models_ = {shard: model for shard, model in models if model is not None}
        changed._set_classes()
        return changed

    def query(self, X):
        """Return the average of the outputs of all models.

        These are probabilities, also as shares of votes, decision values or numbers.
        """
        check_is_fitted(self, "models_")
        models = list(self.models_.values())
        if is_regressor(models[0]):
            values = [query_victim(model, X).values for model in models]
            return Outputs(np.mean(values, axis=0), kind="value")
        answers = [query_aligned(model, X, self.classes_) for model in models]
        kind = answers[0].kind
        if kind == "logits":
            values, kind = [np.exp(each.log_proba()) for each in answers], "proba"
        elif kind == "label":
            values, kind = [each.values[:, None] == self.classes_ for each in answers], "proba"
        else:
            values = [each.values for each in answers]
        values = np.asarray(values, dtype=np.float64)
        if kind == "decision":  # -inf for a class that a model does not know, and cannot rank
            values[np.isneginf(values)] = np.nan
        return Outputs(np.nanmean(values, axis=0), self.classes_, kind)

    def predict(self, X):
        """Predict the class with the largest average, or the average of numbers."""
        outputs = self.query(X)
        if outputs.kind == "value":
            return outputs.values
        return outputs.classes[outputs.values.argmax(axis=1)]


@contextmanager
def _named(shard, y):
    """Name the shard that could not be trained, and say what helps."""
    try:
        yield
    except Exception as error:
        raise TrainingError(
            f"Shard {shard} could not be trained on its {len(y)} records with "
            f"{len(np.unique(y))} different labels; use fewer shards or more records: {error}"
        ) from error


@dataclass(frozen=True)
class SISA(Forgetting):
    """Train one model per shard, and train again only the shards that held a forgotten record.

    It is ``unlearn="sisa"`` of :func:`~skmia.games.unlearning_game`. Records are assigned to shards
    by a hash of their content, and the answers of the models are averaged: labels are counted as
    votes, and a decision value is averaged over the models that know its class. Forgetting is
    exact, because a model has seen nothing but its shard. All shards are trained again if many
    records are forgotten.

    Parameters
    ----------
    n_shards : int, default=5
        Number of shards.

    References
    ----------
    Bourtoule, L., Chandrasekaran, V., Choquette-Choo, C. A., Jia, H., Travers, A., Zhang, B., Lie,
    D. and Papernot, N. (2021). Machine unlearning. IEEE S&P.
    """

    n_shards: int = 5

    _parameter_constraints = {"n_shards": [at_least(1)]}

    def prepare(self, estimator: BaseEstimator) -> BaseEstimator:  # noqa: D102 - of the base class
        return ShardedModel(estimator, self.n_shards)

    def _forget(self, model, records, keep, forget, rng):
        # A record is recognized by its content, with the label in the form that fit was given.
        y = shape_targets(model, records.X, records.y, has_column(records))
        trained = Records(records.X, y)
        if not np.isin(trained.fingerprint[forget], model.fingerprints_).all():
            raise ValueError(
                "SISA forgets records that its model was trained on; it was not trained on all of "
                "these, with these labels."
            )
        shards, models = place_in_shards(trained, model.n_shards), {}
        for shard in np.unique(shards[forget]).tolist():
            rows = keep[shards[keep] == shard]
            models[shard] = None
            if len(rows):
                with _named(shard, records.y[rows]):
                    models[shard] = train_again(model.estimator, records, rows, rng)
        return model.replace(models)


_ATTRIBUTES = "coef_", "intercept_", "coefs_", "intercepts_"
# Modules whose models can have them, of the packages that are known.
_WITH_WEIGHTS = "linear_model", "neural_network", "svm", "discriminant_analysis"
_KNOWN = "sklearn", "skmia"
_NEEDED = (
    "it needs a model with weights (coef_, coefs_) or a net of skorch; got {}. Pass a function "
    "unlearn(model, records, keep, forget, rng) instead."
)


@dataclass(frozen=True)
class WeightNoise(Forgetting):
    """Add normal noise to the weights of the model.

    It is ``unlearn="noise"`` of :func:`~skmia.games.unlearning_game`. The model, or the last step
    of a Pipeline, is a linear model or a perceptron of scikit-learn, or a net of skorch.

    Parameters
    ----------
    scale : float, default=0.3
        Standard deviation of the noise, in standard deviations of the weights of each array.

    See Also
    --------
    FineTuning : Changes the weights by further training.
    """

    scale: float = 0.3

    _parameter_constraints = {"scale": [Interval(Real, 0, None, closed="left")]}

    @staticmethod
    def _why_not(estimator):
        last = get_last_step(estimator)
        package, *rooms = type(last).__module__.split(".")
        if package not in _KNOWN or set(rooms) & set(_WITH_WEIGHTS):
            return None
        return _NEEDED.format(type(last).__name__)

    def _forget(self, model, records, keep, forget, rng):
        model = copy.deepcopy(unwrap(model))
        last = get_last_step(model)
        if is_skorch(last):
            import torch

            with torch.no_grad():
                for weights in last.module_.parameters():
                    weights.copy_(torch.as_tensor(self._shake(weights.cpu().numpy(), rng)))
            return model
        held = [name for name in _ATTRIBUTES if hasattr(last, name)]
        if not {"coef_", "coefs_"} & set(held):
            raise TypeError(
                f"{type(self).__name__} cannot be played: {_NEEDED.format(type(last).__name__)}"
            )
        for name in held:
            setattr(last, name, self._shake(getattr(last, name), rng))
        return model

    def _shake(self, weights, rng):
        if isinstance(weights, list):
            return [self._shake(part, rng) for part in weights]
        weights = np.asarray(weights)
        spread = np.std(weights) if weights.size > 1 else np.abs(weights).max(initial=0.0)
        noise = self.scale * spread * rng.normal(size=weights.shape)
        return np.asarray(weights + noise, dtype=weights.dtype, order="C")


WAYS = {
    "retrain": Retraining,
    "noop": NoUnlearning,
    "negative": NegativeWeights,
    "finetune": FineTuning,
    "relabel": Relabeling,
    "noise": WeightNoise,
    "sisa": SISA,
}
