"""Training a skorch net with gradients that opacus clips row by row and covers with noise."""

import itertools
import math
import warnings
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from ..utils._optional import import_optional

_CRITERIA = ("CrossEntropyLoss", "NLLLoss")
# Larger than any gradient; infinity times the noise multiplier 0 would be undefined.
_NO_CLIPPING = 1e30


class Privacy(NamedTuple):
    """How a net is trained."""

    noise_multiplier: float
    max_grad_norm: float
    sample_rate: float
    expected_batch_size: float
    n_steps: int  # of an epoch
    poisson: bool


def check_trainable(net):
    """Check that clipping bounds what one row changes in an initialised net.

    Raises
    ------
    ValueError
        Says what stands against it.
    """
    torch = import_optional("torch", "torch")
    validators = import_optional("opacus.validators", "dp")
    if net.train_split is not None:
        raise ValueError(
            "The rows of a validation split are not covered by the noise; set train_split=None."
        )
    _check_criterion(net.criterion_)
    net.module_.train()
    for layer in net.module_.modules():
        if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
            raise ValueError(
                f"The net has a {type(layer).__name__}, which normalises a row by the others of "
                "its batch, so that clipping does not bound what one row changes; use GroupNorm or "
                "LayerNorm."
            )
    errors = validators.ModuleValidator.validate(net.module_, strict=False)
    if errors:
        raise ValueError(f"opacus cannot train the net privately: {errors[0]}")


def _check_criterion(criterion):
    name = type(criterion).__name__
    if name not in _CRITERIA:
        raise ValueError(
            "The loss of a batch must be the mean or the sum of losses of its rows; "
            f"criterion must be {' or '.join(_CRITERIA)}; got {name}."
        )
    if criterion.reduction not in ("mean", "sum"):
        raise ValueError(
            f"criterion__reduction must be 'mean' or 'sum'; got {criterion.reduction!r}."
        )
    if criterion.weight is not None and criterion.reduction == "mean":
        raise ValueError(
            "The mean of a criterion with class weights is divided by the weights of the whole "
            "batch, so that one row changes the loss of the others; use criterion__reduction='sum'."
        )


def train_privately(net, X, y, privacy, accountant, on_step=None):
    """Train an initialised net, in place; the accountant counts the steps that were made."""
    with _private_parts(net, privacy, accountant, on_step), warnings.catch_warnings():
        # Features take no gradients, which is how it should be.
        warnings.filterwarnings("ignore", "Full backward hook is firing")
        parts = net.module_, net.optimizer_
        net.partial_fit(X, y)
        if (net.module_, net.optimizer_) != parts:
            raise ValueError(
                "A callback of the net made its module or its optimizer anew, so that it was "
                "trained without noise; give the net the right sizes instead."
            )


@contextmanager
def _private_parts(net, privacy, accountant, on_step):
    """Put private parts into an initialised net, and take them out again."""
    grad_sample = import_optional("opacus.grad_sample", "dp")
    optimizers = import_optional("opacus.optimizers", "dp")
    optimizer, iterator = net.optimizer_, net.iterator_train
    reduction = net.criterion_.reduction
    attributes = [(layer, set(vars(layer))) for layer in net.module_.modules()]
    module = grad_sample.GradSampleModule(net.module_, loss_reduction=reduction)
    private = optimizers.DPOptimizer(
        optimizer,
        noise_multiplier=privacy.noise_multiplier,
        max_grad_norm=min(privacy.max_grad_norm, _NO_CLIPPING),
        expected_batch_size=privacy.expected_batch_size,
        loss_reduction=reduction,
    )
    count = accountant.get_optimizer_hook_fn(privacy.sample_rate)
    private.attach_step_hook(count if on_step is None else _reporting(count, on_step))
    net.module_, net.optimizer_ = module, private
    if privacy.poisson:
        net.iterator_train = partial(_PoissonLots, optimizer=private, privacy=privacy)
    try:
        yield
    finally:
        # What is left of single rows goes: the sum of a step before noise, and, where training was
        # interrupted, the rows themselves.
        private.zero_grad(set_to_none=True)
        for parameter in private.params:
            del parameter.summed_grad
        net.module_, net.optimizer_ = module.to_standard_module(), optimizer
        net.iterator_train = iterator
        for layer, known in attributes:
            for name in set(vars(layer)) - known:
                delattr(layer, name)


def _reporting(count, on_step):
    """A hook that counts a step and shows what it releases, before the weights move."""
    torch = import_optional("torch", "torch")
    steps = itertools.count()

    def flat(tensors):
        # cat makes a copy, so that what was shown does not change with the next step.
        return torch.cat([tensor.detach().ravel() for tensor in tensors]).cpu().numpy()

    def hook(optimizer):
        count(optimizer)
        noisy = flat(parameter.grad for parameter in optimizer.params)
        on_step(next(steps), noisy, flat(optimizer.params))

    return hook


class _PoissonLots:
    """In the place of a DataLoader: each row takes part in each lot by a coin flip of its own."""

    def __init__(self, dataset, optimizer, privacy, collate_fn=None, **settings):
        # How a loader would order rows, and with how many workers, is of no matter here.
        torch = import_optional("torch", "torch")
        self.dataset = dataset
        self.optimizer = optimizer
        self.privacy = privacy
        self.collate = collate_fn or torch.utils.data.default_collate

    def __iter__(self):
        """Lots of one epoch."""
        torch = import_optional("torch", "torch")
        for _ in range(self.privacy.n_steps):
            coins = torch.rand(len(self.dataset), dtype=torch.float64)
            rows = (coins < self.privacy.sample_rate).nonzero().ravel().tolist()
            if rows:
                yield self.collate([self.dataset[row] for row in rows])
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
