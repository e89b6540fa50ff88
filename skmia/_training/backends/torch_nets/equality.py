"""Comparison of joint and ordinary training on a few steps of two models."""

import warnings
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from ...._core.containers import take_rows
from ...._core.copies import copy_unfitted
from ...._core.randomness import isolated_randomness, preserved_randomness, seed_estimator
from ...groups import describe_training_error
from .batches import as_precise, ask
from .callbacks import average_of, begin, list_monitored, schedulers_of, why_not_followed
from .keyed_draws import draws_the_same
from .plan import overridden
from .prepare import CannotBatchError, fit_transformers, prepare_net, shared_table
from .stack import has_convolutions, is_active
from .train import NetTraining

_N_BATCHES, _N_EPOCHS = 3, 2
# On a CPU, matrix products dominate in larger nets, and a net that is trained alone has the cache
# to itself: many nets at once are 1.8 times as fast with 0.7 million weights, and 1.0 to 1.3 times
# with 2 million.
_MOST_WEIGHTS = 2_000_000
# Rounding after a few steps, relative to the largest weight of a parameter.
_PRECISE_ROUNDING, _ROUNDING = 1e-9, 1e-3


class EqualityCheck(NamedTuple):
    """Whether and how nets can be trained together.

    Attributes
    ----------
    reason : str or None
        Why they cannot; None if they can.
    at_once : str or None
        Why their gradients cannot be computed at once; None if they can.
    has_convolutions : bool
        Whether the module has convolutions.
    """

    reason: str | None
    at_once: str | None = None
    has_convolutions: bool = False


def check_training(job, generic=False):
    """Compare joint training with ordinary training by training two nets for a few steps.

    The comparison is in double precision, in which rounding cannot hide a difference, unless the
    module does not support it.
    """
    try:
        table, prepared = _prepare_two(job)
    except CannotBatchError as refusal:
        return EqualityCheck(str(refusal))
    except Exception as error:
        told = describe_training_error(error)
        return EqualityCheck(f"The net cannot be prepared for training ({told}).")
    module = prepared[0].net.module_
    lazy = next((name for name, one in module.named_parameters() if is_lazy(one)), None)
    if lazy is not None:
        return EqualityCheck(
            f"The net has a lazy layer ({lazy!r}), whose shape is known after its first batch."
        )
    if prepared[0].signature != prepared[1].signature:
        return EqualityCheck("The parameters of the shadow models differ in shape.")
    reason = _why_not_module(module, prepared[0]) or why_not_followed(prepared[0].net)
    reason = reason or _why_not_asked(prepared[0], table)
    if reason:
        return EqualityCheck(reason)
    convolutions = has_convolutions(module)
    at_once = why_not_at_once(prepared[0].net) or _compare_with_single(
        job, prepared, table, generic
    )
    if at_once is not None:
        table, prepared = _prepare_two(job)
        reason = _compare_with_single(job, prepared, table, in_turn=True)
    return EqualityCheck(reason, at_once, convolutions)


def _prepare_two(job):
    table = shared_table(job)
    return table, [prepare_net(job, k, table) for k in (0, 1)]


def is_uncertain(net):
    """Return whether it depends on the machine if nets of a kind are faster together."""
    return has_convolutions(net.module_) or why_not_at_once(net) is not None


def why_not_at_once(net):
    """Return the reason why the gradients of many nets cannot be computed at once, or None."""
    for part in net.module_.modules():
        if isinstance(part, nn.RNNBase):
            return f"torch does not vectorize {type(part).__name__}"
    own = [name for name in overridden(net) if name != "get_loss"]
    return f"{type(net).__name__} overrides {own[0]} of skorch" if own else None


def _why_not_module(module, ready):
    n_weights = sum(parameter.numel() for parameter in module.parameters())
    if ready.device.type == "cpu" and n_weights > _MOST_WEIGHTS:
        return f"Nets of {n_weights:,} weights are not faster for many models at once on a CPU."
    if any(parameter.requires_grad for parameter in ready.net.criterion_.parameters()):
        return "The criterion has weights that are trained."
    return None


def _why_not_asked(ready, table):
    """Return the reason why a net cannot predict for rows of their type, or None."""
    table = table or ready.table
    try:
        with preserved_randomness(), torch.no_grad():
            ask(ready.net.module_.eval(), table.take_dense(ready.rows[:2]))
    except Exception as error:
        return f"The net cannot be trained ({describe_training_error(error)})."
    return None


def _compare_with_single(job, prepared, table, generic=False, in_turn=False):
    """Return the reason why the first steps of two nets differ from ordinary training, or None."""
    for dtype in (torch.float64, None):
        try:
            expected = [_train_ordinary(job, k, dtype, not in_turn) for k in (0, 1)]
        except Exception as error:
            failure = f"The net cannot be trained ({describe_training_error(error)})."
            continue
        try:
            for ready in prepared:
                _adapt(ready.net, dtype, not in_turn)
            NetTraining(prepared, table, generic, dtype, in_turn).run(_N_EPOCHS, _N_BATCHES)
        except Exception as error:
            if in_turn:
                return f"The net cannot be trained with others ({describe_training_error(error)})."
            if "random operation" in str(error):
                return "the module draws random numbers in other ways than through nn.Dropout"
            told = describe_training_error(error)
            return f"torch cannot vectorize the module over models ({told})"
        tolerance = _ROUNDING if dtype is None else _PRECISE_ROUNDING
        for ready, module in zip(prepared, expected):
            if not _are_equal_modules(ready.net.module_, module, tolerance):
                return "The first steps differ from the steps of the net trained alone."
        return None
    return failure


def _adapt(net, dtype, at_once):
    """Convert the numbers of a net, and leave out what would draw others than by itself."""
    if dtype is not None:
        net.module_.to(dtype)
        net.criterion_.to(dtype)
    if draws_the_same(torch.device(net.device)):
        return
    vars(net).pop("iterator_train__collate_fn", None)
    for part in filter(is_active, net.module_.modules() if at_once else ()):
        part.p = 0.0


def _train_ordinary(job, k, dtype, at_once):
    """Train the module of one model on the first batches of the first epochs, in skorch's loop."""
    model = copy_unfitted(job.estimator)
    seed_estimator(model, job.seeds[k])
    members = np.flatnonzero(job.subsets[k])
    with isolated_randomness(job.seeds[k]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = take_rows(job.data.tables[0], members), job.data.take_targets(members)
        net, X = fit_transformers(model, X, y)
        net.initialize()
        _adapt(net, dtype, at_once)
        if dtype is not None:
            net.initialize_optimizer()
        net.check_data(X, y)
        train, valid = net.get_split_datasets(X, y)
        train = net.get_iterator(train, training=True)
        schedulers = schedulers_of(net)
        begin(schedulers, net)
        averages = [average for average in [average_of(net)] if average is not None]
        for _ in range(_N_EPOCHS):
            for _, batch in zip(range(_N_BATCHES), train):  # it makes no batch more
                net.train_step([as_precise(part, dtype) for part in batch])
                for one in (*schedulers, *averages):
                    one.on_batch_end(net, training=True)
            if valid is not None:
                iter(net.get_iterator(valid, training=False))
            for one in schedulers:
                if not list_monitored([one]):  # there is no loss of a whole epoch
                    one.on_epoch_end(net)
        for average in averages:
            average.on_train_end(net)
    return net.module_


def _are_equal_modules(module, expected, tolerance):
    ours = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    theirs = {**dict(expected.named_parameters()), **dict(expected.named_buffers())}
    for name, value in ours.items():
        a, b = value.detach().double(), theirs[name].detach().double()
        scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
        if not torch.allclose(a, b, rtol=0, atol=tolerance * scale, equal_nan=True):
            return False
    return True
