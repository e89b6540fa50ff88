"""Training a skorch net with gradients that are clipped row by row and covered with noise."""

import math
import warnings
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._core.numbers import show
from .._core.optional import import_optional
from .._core.torch_parts import layers_of
from ..exceptions import PrivacyWarning
from ._extra_gradients import ExtraGradients
from .private_randomness import PrivateRandomness

# skorch's callbacks that act on what they monitor, and the parameter that names it.
_WATCHERS = ("EarlyStopping", "Checkpoint", "LRScheduler")

# Larger than any gradient; infinity times the noise multiplier 0 would be undefined.
_NO_CLIPPING = 1e30


# What code of others raises where its settings are of the wrong kind.
_CANNOT_MAKE = (TypeError, ValueError, RuntimeError, AttributeError, AssertionError)


class PrivateParts(NamedTuple):
    """What stands in for parts of a net while it is trained."""

    randomness: PrivateRandomness
    grad_sample_mode: str
    extra_gradients: Callable[..., Any] | None = None


class Privacy(NamedTuple):
    """How a net is trained."""

    noise_multiplier: float
    max_grad_norm: float
    sample_rate: float
    expected_batch_size: float
    n_steps: int  # of an epoch
    poisson: bool


def make_net(net, n_features, n_classes):
    """An initialized net: a clone, or what a callable makes of the two numbers.

    Raises
    ------
    TypeError, ValueError
        If it makes no net, or its settings are of the wrong kind.
    """
    what = "makes no net of two numbers"
    try:
        if hasattr(net, "initialize"):
            made = clone(net)
        else:
            made = net(n_features, n_classes)
        if not hasattr(made, "initialize"):
            raise TypeError(f"got {type(made).__name__}")
        what = "cannot be initialized"
        return made.initialize()
    except _CANNOT_MAKE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"net {what}: {reason}") from error


def check_trainable(net):
    """Check that clipping bounds what one row changes in an initialized net.

    Raises
    ------
    ValueError
        Says what stands against it.
    """
    validators = import_optional("opacus.validators", "dp")
    if net.train_split is not None:
        raise ValueError(
            "The rows of a validation split are not covered by the noise; set train_split=None."
        )
    _check_criterion(net.criterion_)
    _check_callbacks(net)
    net.module_.train()
    for layer in net.module_.modules():
        if isinstance(layer, layers_of("batch norm")):
            raise ValueError(
                f"The net has a {type(layer).__name__}, which normalizes a row by the others of "
                "its batch, so that clipping does not bound what one row changes; use GroupNorm or "
                "LayerNorm."
            )
    errors = validators.ModuleValidator.validate(net.module_, strict=False)
    if errors:
        raise ValueError(f"opacus cannot train the net privately: {errors[0]}")


def _check_criterion(criterion):
    nn = import_optional("torch", "torch").nn
    name = type(criterion).__name__
    if type(criterion) not in (nn.CrossEntropyLoss, nn.NLLLoss):
        raise ValueError(
            "The loss of a batch must be the mean or the sum of losses of its rows; "
            f"criterion must be torch's CrossEntropyLoss or NLLLoss; got {name}."
        )
    if criterion.reduction not in ("mean", "sum"):
        raise ValueError(
            f"criterion__reduction must be 'mean' or 'sum'; got {show(criterion.reduction)}."
        )
    if criterion.reduction == "mean" and criterion.weight is not None:
        raise ValueError(
            "The mean of a criterion with class weights is divided by the weights of the whole "
            "batch, so that one row changes the loss of the others; use criterion__reduction='sum'."
        )
    if criterion.reduction == "mean" and criterion.ignore_index >= 0:
        raise ValueError(
            f"The mean of a criterion with ignore_index={criterion.ignore_index} is divided by the "
            "rows that are not ignored, so that one row changes the loss of the others; use "
            "criterion__reduction='sum'."
        )


def _check_callbacks(net):
    """Refuse callbacks that let the losses of the training rows decide about the training."""
    for name, callback in net.callbacks_:
        kinds = {base.__name__ for base in type(callback).__mro__}
        monitor = getattr(callback, "monitor", None)
        reads_loss = callable(monitor) or str(monitor or "").startswith("train")
        is_watcher = kinds & set(_WATCHERS)
        if "LRScheduler" in kinds:
            policy = getattr(callback, "policy", "")
            is_watcher = getattr(policy, "__name__", policy) == "ReduceLROnPlateau"
            reads_loss |= callable(getattr(callback, "monitor", None))
        if is_watcher and reads_loss:
            raise ValueError(
                f"The callback {name!r} ({type(callback).__name__}) acts on the loss of the "
                "training rows, which no noise covers; leave it out."
            )


def train_privately(net, X, y, privacy, parts, on_step=None):
    """Train an initialized net, in place.

    Parameters
    ----------
    net : skorch net
    X : ndarray of shape (n_rows, ...)
    y : ndarray of shape (n_rows,)
        Codes of classes; rows with a negative one contribute nothing.
    privacy : Privacy
    parts : PrivateParts
    on_step : callable or None

    Returns
    -------
    n_steps : int
        Steps that were made.
    """
    buffers = {name: value.clone() for name, value in net.module_.named_buffers()}
    with _private_parts(net, y, privacy, parts, on_step) as count, warnings.catch_warnings():
        # Features take no gradients, which is how it should be.
        warnings.filterwarnings("ignore", "Full backward hook is firing")
        module, optimizer = net.module_, net.optimizer_
        net.partial_fit(X, np.maximum(y, 0))
        if net.module_ is not module or net.optimizer_ is not optimizer:
            raise ValueError(
                "A callback of the net replaced its module or its optimizer, so that it was "
                "trained without noise; give the net the right sizes instead."
            )
    _restore_buffers(net.module_, buffers)
    return count.n_steps


def _restore_buffers(module, buffers):
    """Put buffers back to where they were before training: what they took in has no noise."""
    torch = import_optional("torch", "torch")
    for name, value in module.named_buffers():
        if not torch.equal(value, buffers[name]):
            with torch.no_grad():
                value.copy_(buffers[name])
            if value.dtype.is_floating_point:
                warnings.warn(
                    f"The buffer {name!r} of the net changed in training, which no noise covers; "
                    "it was put back to its first value.",
                    PrivacyWarning,
                    stacklevel=4,
                )


class _StepCount:
    """Counts steps, and shows what they release before the weights move."""

    def __init__(self, on_step):
        self.on_step, self.n_steps = on_step, 0

    def __call__(self, optimizer):
        if self.on_step is not None:
            noisy = self._flat(parameter.grad for parameter in optimizer.params)
            self.on_step(self.n_steps, noisy, self._flat(optimizer.params))
        self.n_steps += 1

    @staticmethod
    def _flat(tensors):
        torch = import_optional("torch", "torch")
        # cat makes a copy, so that what was shown does not change with the next step.
        return torch.cat([tensor.detach().ravel() for tensor in tensors]).cpu().numpy()


@contextmanager
def _private_parts(net, codes, privacy, parts, on_step):
    """Put private parts into an initialized net, and take them out again."""
    grad_sample = import_optional("opacus.grad_sample", "dp")
    from ._private_optimizer import PrivateOptimizer

    optimizer, iterator = net.optimizer_, net.iterator_train
    reduction = net.criterion_.reduction
    attributes = [(layer, set(vars(layer))) for layer in net.module_.modules()]
    module = net.module_
    if parts.grad_sample_mode == "hooks":
        module = grad_sample.GradSampleModule(net.module_, loss_reduction=reduction)
    private = PrivateOptimizer(
        optimizer,
        parts.randomness,
        extra=_make_extra(net, len(codes), privacy, parts),
        noise_multiplier=privacy.noise_multiplier,
        max_grad_norm=min(privacy.max_grad_norm, _NO_CLIPPING),
        expected_batch_size=privacy.expected_batch_size,
        loss_reduction=reduction,
    )
    count = _StepCount(on_step)
    private.attach_step_hook(count)
    plain, net.module_, net.optimizer_ = net.module_, module, private
    if privacy.poisson:
        net.iterator_train = partial(
            _PoissonLots, optimizer=private, privacy=privacy, parts=parts, codes=codes
        )
    step = partial(type(net).train_step_single, net)
    if parts.grad_sample_mode == "rows":
        step = partial(_step_row_by_row, net, step)
    net.train_step_single = partial(_step_apart, step, _draws(privacy, parts))
    try:
        yield count
    finally:
        # What is left of single rows goes: the sum of a step before noise, and, where training was
        # interrupted, the rows themselves.
        private.zero_grad(set_to_none=True)
        for parameter in private.params:
            del parameter.summed_grad
            parameter.__dict__.pop("grad_sample", None)
        if parts.grad_sample_mode == "hooks":
            module.to_standard_module()
        del net.train_step_single
        net.module_, net.optimizer_ = plain, optimizer
        net.iterator_train = iterator
        for layer, known in attributes:
            for name in set(vars(layer)) - known:
                delattr(layer, name)


def _make_extra(net, n_rows, privacy, parts):
    """What draws extra gradients as rows are drawn; None without them."""
    if parts.extra_gradients is None:
        return None
    n_turns = None
    if not privacy.poisson:
        lots = n_rows / privacy.expected_batch_size
        drops = net.get_params_for("iterator_train").get("drop_last", False)
        n_turns = max(1, math.floor(lots) if drops else math.ceil(lots))
    draws = parts.randomness, privacy.sample_rate, n_turns
    return ExtraGradients(parts.extra_gradients, *draws)


def _draws(privacy, parts):
    """Where modules and data sets get random numbers from, as a maker of contexts."""
    return parts.randomness.for_modules if privacy.noise_multiplier else nullcontext


def _step_apart(step, draws, batch, **fit_params):
    """A step whose random numbers are private, and how many they are does not show."""
    with draws():
        return step(batch, **fit_params)


def _step_row_by_row(net, step, batch, **fit_params):
    """Gradients of rows that each go through the net alone, whatever it does with a batch."""
    torch = import_optional("torch", "torch")
    rows, labels = batch
    parameters = [weight for weight in net.module_.parameters() if weight.requires_grad]
    gradients, losses = [[] for _ in parameters], []
    for k in range(len(labels)):
        for parameter in parameters:
            parameter.grad = None
        result = step((rows[k : k + 1], labels[k : k + 1]), **fit_params)
        losses.append(result)
        for parameter, kept in zip(parameters, gradients, strict=True):
            kept.append(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
    for parameter, kept in zip(parameters, gradients, strict=True):
        parameter.grad, parameter.grad_sample = None, torch.stack(kept)
    return {
        "loss": torch.stack([loss["loss"].detach() for loss in losses]).mean(),
        "y_pred": torch.cat([loss["y_pred"].detach() for loss in losses]),
    }


class _PoissonLots:
    """In the place of a DataLoader: each row takes part in each lot by a separate coin flip."""

    def __init__(self, dataset, optimizer, privacy, parts, codes, collate_fn=None, **settings):
        # How a loader would order rows, and with how many workers, is of no matter here.
        torch = import_optional("torch", "torch")
        self.dataset = dataset
        self.optimizer = optimizer
        self.privacy = privacy
        self.randomness = parts.randomness
        self.draws = _draws(privacy, parts)
        self.contributes = codes >= 0
        self.collate = collate_fn or torch.utils.data.default_collate

    def __iter__(self):
        """Lots of one epoch."""
        for _ in range(self.privacy.n_steps):
            coins = self.randomness.coins(len(self.dataset), self.privacy.sample_rate)
            rows = np.flatnonzero(coins & self.contributes).tolist()
            if rows:
                with self.draws():
                    lot = self.collate([self.dataset[row] for row in rows])
                yield lot
            else:
                self._step_without_rows()

    def _step_without_rows(self):
        # An empty lot must not show: it is a step of noise. Not every module takes no rows.
        self.optimizer.zero_grad()
        for parameter in self.optimizer.params:
            parameter.grad_sample = parameter.new_zeros((0, *parameter.shape))
        self.optimizer.step()


def plan(net, n_rows, noise_multiplier, max_grad_norm, poisson):
    """Sampling rate and number of steps; ``noise_multiplier`` may be a function of these two."""
    batch_size = net.get_params_for("iterator_train").get("batch_size", net.batch_size)
    lot = n_rows if batch_size == -1 else min(batch_size, n_rows)
    n_steps = math.ceil(n_rows / lot)
    rate = lot / n_rows
    if callable(noise_multiplier):
        noise_multiplier = noise_multiplier(rate, n_steps * net.max_epochs)
    return Privacy(noise_multiplier, max_grad_norm, rate, lot, n_steps, poisson)


def encode(y, classes):
    """Codes of labels; -1 for those that are not among the classes."""
    known = np.isin(y, classes)
    codes = np.full(len(y), -1, dtype=np.int64)
    codes[known] = np.searchsorted(classes, y[known])
    return codes
