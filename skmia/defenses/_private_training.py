"""Training a net on gradients that are clipped row by row and covered with noise.

The loop takes the module, the optimizer and the criterion of a skorch net and calls nothing else of
it. A module that is trained is a copy: what training leaves in it, apart from the weights, goes
with the copy. Each row goes through data set, collation and module alone, so that no row can see
another one.
"""

import copy
import inspect
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import skorch
import torch
from sklearn.base import clone

from .._core.matrix import check_feature_matrix
from .._core.numbers import MOST, check_count, check_number, refuse_first, show
from .._core.progress import show_progress
from .._core.randomness import preserved_randomness, seed_everything
from .._core.torch_parts import list_layer_classes
from ._exact_noise import choose_grids
from ._fresh_weights import check_drawn, renew_modules

# What code of others raises where its settings are of the wrong kind.
_CANNOT_MAKE = (TypeError, ValueError, RuntimeError, AttributeError, AssertionError, IndexError)

# Methods of a net that a class of one's own may override: none of them has a part in training.
_MAY_OVERRIDE = (
    "_",
    "initialize",
    "predict",
    "score",
    "forward",
    "evaluation_step",
    "validation_step",
    "get_params",
    "set_params",
    "set_score_request",
    "classes_",
)

# Settings of a net that training takes, or that have no part in it. Others must have the value that
# they have in skorch, or they would be dropped without a word.
_TAKEN = (
    "module",
    "criterion",
    "optimizer",
    "lr",
    "max_epochs",
    "batch_size",
    "iterator_train",
    "dataset",
    "train_split",
    "callbacks",
    "device",
    "verbose",
    # of prediction
    "iterator_valid",
    "predict_nonlinearity",
    "classes",
    "use_caching",
    "torch_load_kwargs",
)

# Settings of its loader: rows are drawn by coins whatever the order, and in this process.
_TAKEN_OF_LOADER = (
    "batch_size",
    "collate_fn",
    "shuffle",
    "num_workers",
    "pin_memory",
    "pin_memory_device",
    "persistent_workers",
    "prefetch_factor",
    "timeout",
)

# Devices whose generator gets its state from the operating system.
_DEVICES = ("cpu", "cuda")

# Callbacks that neither see rows nor losses here: they are not called, or a schedule.
_PROGRESS = ("EpochTimer", "PrintLog", "ProgressBar")

# Numbers in the gradients of the rows that are computed at once.
_MOST_NUMBERS = 1 << 25

# Numbers in double precision that are read again before they leave the cache of a processor.
_IN_CACHE = 1 << 16

# Share of the largest component by which two passes of a row may differ by rounding.
_TOLERANCE = 1e-4


class PrivacySettings(NamedTuple):
    """How a net is trained."""

    noise_multiplier: float
    max_grad_norm: float
    sample_rate: float
    expected_batch_size: float
    n_steps: int  # of an epoch
    n_epochs: int
    poisson: bool


class AuditorExtras(NamedTuple):
    """What an auditor adds to a training, or sees of it."""

    on_step: Callable[..., Any] | None = None
    gradients: Callable[..., Any] | None = None


# The net


def make_private_net(net, n_features, n_classes, poisson, public_weights=False):
    """Return an initialized net with new weights, of a net or of a callable of the two numbers."""
    make = partial(_make_once, net, n_features, n_classes, poisson, public_weights)
    made = make()
    if not public_weights and isinstance(made, skorch.NeuralNet):
        check_drawn(made, make)
    return made


def _make_once(net, n_features, n_classes, poisson, public_weights):
    """Return a copy of a net or of what a callable returns, initialized."""
    is_net = hasattr(net, "initialize")
    with _saying_what("makes no net of two numbers"):
        given = net if is_net else net(n_features, n_classes)
        if not hasattr(given, "initialize"):
            raise TypeError(f"got {type(given).__name__}")
    if isinstance(given, skorch.NeuralNet):
        refuse_first(_list_foreign_settings(given, poisson))
    with _saying_what("cannot be copied"):
        made = clone(given)  # training would change a module that the user holds
    if is_net and not public_weights:
        renew_modules(made)
    with _saying_what("cannot be initialized"):
        made = made.initialize()
        # A function may return a module that the user holds; without the declaration it is refused.
        return _copy_initialized(made) if public_weights else made


def _copy_initialized(net):
    """Copy a net with its module; copy.deepcopy pickles nets, which local classes do not allow."""
    if not isinstance(net, skorch.NeuralNet):
        return copy.deepcopy(net)
    made = object.__new__(type(net))
    vars(made).update(copy.deepcopy(vars(net), {id(net): made}))
    return made


@contextmanager
def _saying_what(fails):
    try:
        yield
    except _CANNOT_MAKE as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"estimator {fails}: {reason}") from error


def check_trainable(net):
    """Refuse an initialized net with parts that private training cannot take."""
    refuse_first(_list_foreign_parts(net))


def _list_foreign_parts(net):
    """Yield parts of an initialized net that private training cannot take."""
    if net.train_split is not None:
        yield "The rows of a validation split are not covered by the noise; set train_split=None."
    yield from _list_foreign_methods(net)
    yield from _list_wrong_losses(net.criterion_)
    yield from _list_foreign_callbacks(net)
    for layer in net.module_.modules():
        if type(layer).__module__.startswith("opacus.grad_sample"):
            yield (
                f"The net has a {type(layer).__name__} of opacus, and private training computes "
                "the gradients of rows itself; give the module inside."
            )
        if isinstance(layer, list_layer_classes("batch norm")):
            yield (
                f"The net has a {type(layer).__name__}, which normalizes a row by the others of "
                "its batch, so that clipping does not bound what one row changes; use GroupNorm or "
                "LayerNorm."
            )
        is_embedding = isinstance(layer, torch.nn.Embedding | torch.nn.EmbeddingBag)
        if is_embedding and layer.max_norm is not None:
            yield (
                f"The net has an {type(layer).__name__} with max_norm, which shortens the weights "
                "of the values that it sees, so that they tell without noise which values occur; "
                "leave max_norm out."
            )
    if not any(parameter.requires_grad for parameter in net.module_.parameters()):
        yield "The net has no weights to train."
    for parameter in net.module_.parameters():
        if parameter.device.type not in _DEVICES:
            yield (
                f"The device of the net must be one of {', '.join(_DEVICES)}, whose generators get "
                f"their state from the operating system; got {parameter.device}."
            )


@cache
def _list_skorch_defaults():
    """List the settings of any net of skorch that have a default, each with it."""
    parameters = inspect.signature(skorch.NeuralNet.__init__).parameters.values()
    return [(one.name, one.default) for one in parameters if one.default is not one.empty]


def _list_foreign_settings(net, poisson):
    """Yield settings that training would not follow, and numbers that it cannot."""
    for name, default in _list_skorch_defaults():
        if name not in _TAKEN and (value := getattr(net, name, default)) != default:
            yield (
                f"The net has {name}={show(value)}, which private training does not follow; leave "
                f"it at {show(default)}."
            )
    step = getattr(net.optimizer, "step", None)
    closure = inspect.signature(step).parameters.get("closure") if callable(step) else None
    if closure is not None and closure.default is closure.empty:
        yield (
            f"The optimizer of the net ({net.optimizer.__name__}) evaluates losses within a step, "
            "which no noise covers; use another one, such as SGD."
        )
    check_count(net.max_epochs, "max_epochs of the net")
    if _batch_size(net) != -1:
        allowed = "an integer of at least 1, or -1 for all rows"
        check_number(_batch_size(net), "batch_size of the net", allowed, 1, MOST, whole=True)
    yield from _list_wrong_loaders(net, poisson)
    yield from _list_foreign_methods(net)


def _list_wrong_loaders(net, poisson):
    """Yield settings of the loader that would decide otherwise which rows are in a step."""
    settings = net.get_params_for("iterator_train")
    taken = _TAKEN_OF_LOADER if poisson else (*_TAKEN_OF_LOADER, "drop_last")
    refused = [name for name in settings if name not in taken and settings[name] is not None]
    # Without it, as is the default, the last step of an epoch is planned like the others.
    refused = [name for name in refused if name != "drop_last" or settings[name]]
    if refused:
        yield (
            f"The net has iterator_train__{refused[0]}, and in private training coins decide which "
            f"rows are in a step. Of its loader it takes {', '.join(taken)}; leave it out."
        )
    if net.iterator_train is not torch.utils.data.DataLoader:
        yield (
            "iterator_train of the net must be torch's DataLoader, because in private training "
            f"coins decide which rows are in a step; got {show(net.iterator_train)}."
        )


def _batch_size(net):
    return net.get_params_for("iterator_train").get("batch_size", net.batch_size)


def _list_foreign_methods(net):
    """Yield methods of one's own that training would have to call."""
    base = next(kind for kind in type(net).__mro__ if kind.__module__.startswith("skorch."))
    if not isinstance(net, skorch.NeuralNetClassifier):
        yield f"net must be a skorch.NeuralNetClassifier; got {type(net).__name__}."
    own = set(vars(net))
    for kind in type(net).__mro__[: type(net).__mro__.index(base)]:
        own |= set(vars(kind))
    methods = {name for name in own if callable(getattr(base, name, None))}
    for name in sorted(name for name in methods if not name.startswith(_MAY_OVERRIDE)):
        yield (
            f"{type(net).__name__} has a {name} of its own, and private training calls the "
            "module, the criterion and the optimizer of a net alone; move what it does into the "
            "module, or leave it out."
        )


def _list_wrong_losses(criterion):
    """Yield why the loss of a batch is not made of losses of its rows alone."""
    is_mean = criterion.reduction == "mean"
    if type(criterion) not in (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss):
        yield (
            "The loss of a batch must be the mean or the sum of losses of its rows; criterion must "
            f"be torch's CrossEntropyLoss or NLLLoss; got {type(criterion).__name__}."
        )
    if criterion.reduction not in ("mean", "sum"):
        yield f"criterion__reduction must be 'mean' or 'sum'; got {show(criterion.reduction)}."
    if is_mean and criterion.weight is not None:
        yield (
            "The mean of a criterion with class weights is divided by the weights of the whole "
            "batch, so that one row changes the loss of the others; use criterion__reduction='sum'."
        )
    if is_mean and criterion.ignore_index >= 0:
        yield (
            f"The mean of a criterion with ignore_index={criterion.ignore_index} is divided by the "
            "rows that are not ignored, so that one row changes the loss of the others; use "
            "criterion__reduction='sum'."
        )


def _list_foreign_callbacks(net):
    """Yield callbacks that see rows or their losses, unless the net or skorch has them itself."""
    own = {name: type(callback) for name, callback in net.get_default_callbacks()}
    harmless = tuple(getattr(skorch.callbacks, name) for name in _PROGRESS)
    for name, callback in net.callbacks_:
        if type(callback) is skorch.callbacks.LRScheduler:
            if issubclass(callback.policy_, torch.optim.lr_scheduler.ReduceLROnPlateau):
                yield (
                    f"The callback {name!r} (ReduceLROnPlateau) acts on the loss of the training "
                    "rows, which no noise covers; use a schedule that is fixed beforehand."
                )
        elif type(callback) not in harmless and own.get(name) is not type(callback):
            yield (
                f"The callback {name!r} ({type(callback).__name__}) may see rows or their losses, "
                "which no noise covers. Private training takes LRScheduler with a schedule that is "
                f"fixed beforehand, {', '.join(_PROGRESS)}; leave it out."
            )


def list_schedules(net):
    """Return callbacks of a net that set learning rates by the number of the step or the epoch."""
    callbacks = [callback for _, callback in net.callbacks_]
    return [one for one in callbacks if type(one) is skorch.callbacks.LRScheduler]


def plan(net, n_rows, noise_multiplier, max_grad_norm, poisson):
    """Return the sampling rate and number of steps.

    ``noise_multiplier`` may be a function of these two.
    """
    batch_size = _batch_size(net)
    lot = n_rows if batch_size == -1 else min(batch_size, n_rows)
    n_steps = math.ceil(n_rows / lot)
    rate = lot / n_rows
    if callable(noise_multiplier):
        noise_multiplier = noise_multiplier(rate, n_steps * net.max_epochs)
    return PrivacySettings(
        noise_multiplier, max_grad_norm, rate, lot, n_steps, net.max_epochs, poisson
    )


def encode(y, classes):
    """Return the codes of labels; -1 for those that are not among the classes."""
    known = np.isin(y, classes)
    codes = np.full(len(y), -1, dtype=np.int64)
    codes[known] = np.searchsorted(classes, y[known])
    return codes


# Rows and their gradients


class PrivateRows:
    """Training rows as the net would get them, each one alone.

    Shapes: X (n_rows, ...), codes (n_rows,).
    """

    def __init__(self, net, X, codes):
        self._net, self._X, self._codes = net, X, codes
        collate = net.get_params_for("iterator_train").get("collate_fn")
        self._collate = collate or torch.utils.data.default_collate
        # Then a row is a row of X and nothing else, and rows need not be taken one by one.
        self._is_plain = net.dataset is skorch.dataset.Dataset and collate is None
        self._is_plain &= not net.get_params_for("dataset")

    def take(self, rows):
        """Return the features and codes of some rows.

        Return features of shape (n, ...).
        """
        if self._is_plain:
            chosen = self._X[rows], self._codes[rows]
            return tuple(torch.from_numpy(part).to(self._net.device) for part in chosen)
        made = [self._make(row) for row in rows]
        features, codes = [features for features, _ in made], [codes for _, codes in made]
        shapes = {_shapes(part) for part in made}
        if len(shapes) == 1 and all(shape[0] == 1 for shape in next(iter(shapes))):
            return tuple(_of_each(lambda *x: torch.cat(x), *parts) for parts in (features, codes))
        return features, codes

    def _make(self, row):
        dataset = self._net.get_dataset(self._X[row : row + 1], self._codes[row : row + 1])
        features, codes = self._collate([dataset[0]])
        return tuple(_of_each(lambda x: x.to(self._net.device), part) for part in (features, codes))


def _shapes(part):
    features, codes = part
    tensors = [*(features.values() if isinstance(features, Mapping) else [features]), codes]
    return tuple(tuple(tensor.shape) for tensor in tensors)


def _of_each(function, *parts):
    """Return what a function makes of tensors, or of those of the same name in mappings."""
    if isinstance(parts[0], Mapping):
        return {name: function(*(part[name] for part in parts)) for name in parts[0]}
    return function(*parts)


class RowGradients:
    """Gradients of the loss of single rows, by copies of a module and a criterion.

    together: whether the rows of a batch go through the module at once, each as a batch of its own,
    by torch.func.vmap; one after the other, if torch cannot do that with this module.
    """

    def __init__(self, module, criterion):
        self.module, self.criterion = copy.deepcopy(module).train(), copy.deepcopy(criterion)
        named = dict(self.module.named_parameters())
        self.parameters = {name: value for name, value in named.items() if value.requires_grad}
        self._fixed = {name: value for name, value in named.items() if not value.requires_grad}
        self._fixed |= dict(self.module.named_buffers())
        self._takes_log = isinstance(criterion, torch.nn.NLLLoss)
        self._alone = torch.func.grad(self._loss)
        self._vmapped = torch.func.vmap(self._alone, (None, 0, 0), randomness="different")
        self.together = True

    def __call__(self, features, codes):
        """Gradients of some rows, each of shape (n_rows, size), in the order of the parameters."""
        weights = {name: value.detach() for name, value in self.parameters.items()}
        if self.together and not isinstance(features, list):
            found = self._vmapped(weights, _of_each(lambda x: x[:, None], features), codes[:, None])
            return [found[name].flatten(start_dim=1) for name in weights]
        found = [self._alone(weights, *row) for row in _split_rows(features, codes)]
        return [torch.stack([one[name].ravel() for one in found]) for name in weights]

    def _loss(self, weights, features, codes):
        # A row that wrote into a weight or a buffer would be seen by the next one, and released.
        state = {name: value.clone() for name, value in (weights | self._fixed).items()}
        args, named = ((), features) if isinstance(features, Mapping) else ((features,), {})
        answer = torch.func.functional_call(self.module, state, args, named)
        if self._takes_log:  # as skorch does
            answer = torch.log(answer + torch.finfo(answer.dtype).eps)
        return self.criterion(answer, codes)


def _split_rows(features, codes):
    if isinstance(features, list):
        yield from zip(features, codes, strict=True)
        return
    for k in range(len(codes)):
        row = slice(k, k + 1)
        yield _of_each(operator.itemgetter(row), features), codes[row]


# A trial with synthetic rows


def try_net(net, row_shape, n_units):
    """Find out with synthetic rows how gradients of single rows can be computed."""
    parameter = next(net.module_.parameters())
    dtype = np.float64 if "float64" in str(parameter.dtype) else np.float32
    last = None
    for X in _make_rows(row_shape, dtype):
        try:
            with preserved_randomness(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _try_rows(net, PrivateRows(net, X, np.arange(len(X)) % n_units))
        except _KeepsRowsError as error:
            raise ValueError(str(error)) from None
        except _CANNOT_MAKE as error:  # values that the module does not take
            last = error
    raise ValueError(
        f"The net cannot be tried with synthetic rows ({type(last).__name__}: {last})."
    ) from last


class _KeepsRowsError(ValueError):
    """Of a module that keeps something of the rows that it has seen."""


def _make_rows(row_shape, dtype):
    """Yield rows to try: of very different sizes, or zeros and ones as codes would be."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(8, *row_shape))
    wide[6], wide[7] = 1e6, 0
    yield wide.astype(dtype)
    yield rng.integers(0, 2, size=wide.shape).astype(dtype)


def _try_rows(net, rows):
    """Return whether the gradients of many rows at once equal those of rows alone."""

    def gradients(made, chosen, together):
        seed_everything(0)  # rows that a collate_fn augments are the same ones then
        made.together = together
        found = made(*rows.take(np.array(chosen)))
        return torch.cat([part.double() for part in found], dim=1).cpu().numpy()

    made = RowGradients(net.module_, net.criterion_)
    first = gradients(made, [0], False)
    gradients(made, [6, 7, 5], False)
    if not _are_equal_gradients(first, gradients(made, [0], False)):
        raise _KeepsRowsError(
            "The gradient of a row depends on rows that went through the net before it (an "
            "attribute of the module changes with the rows), so that clipping does not bound what "
            "one row changes."
        )
    _check_state(net, rows)
    try:
        both = [gradients(RowGradients(net.module_, net.criterion_), [0, 1], k) for k in (0, 1)]
        # Of two lengths; what a module draws, as dropout does, differs between the two ways.
        gradients(made, [0, 1, 2, 3, 4], True)
    except _CANNOT_MAKE:
        return False
    if _are_equal_gradients(*both):
        return True
    seed_everything(1)
    again = torch.cat(RowGradients(net.module_, net.criterion_)(*rows.take(np.arange(1))), dim=1)
    return not _are_equal_gradients(first, again.double().cpu().numpy())  # it draws numbers


def _are_equal_gradients(first, second):
    limit = _TOLERANCE * np.nanmax([np.abs(first), np.abs(second)], initial=0)
    finite = np.isfinite(first) & np.isfinite(second)
    return bool((~finite | (np.abs(first - second) <= limit)).all())


def _check_state(net, rows):
    """Refuse weights and buffers that passes of rows change.

    Such weights would tell of rows without noise, and buffers stay as they are here, so that a
    layer would not work.
    """
    after = [_pass_rows(net, rows, some) for some in ([0, 1, 2], [3, 4, 7])]
    for name, value in _list_state(net.module_).items():
        changed = [not torch.equal(value, one[name]) for one in after]
        if isinstance(value, torch.nn.Parameter) and any(changed):
            raise _KeepsRowsError(
                f"The weights {name!r} of the net change when rows pass through it, which no noise "
                "covers; leave out what changes them."
            )
        if not value.dtype.is_floating_point or not any(changed):
            continue
        if torch.equal(after[0][name], after[1][name]):
            raise _KeepsRowsError(
                f"The buffer {name!r} of the net changes with each pass, as in spectral "
                "normalization, and buffers stay as they are in private training; leave it out."
            )
        raise _KeepsRowsError(
            f"The buffer {name!r} of the net changes with the rows that it sees, which no "
            "noise covers; use track_running_stats=False, or leave it out."
        )


def _pass_rows(net, rows, some):
    """Return weights and buffers of a copy of a net after some rows have passed through it."""
    module = copy.deepcopy(net.module_).train()
    with torch.no_grad():
        for row in _split_rows(*rows.take(np.array(some))):
            module(**row[0]) if isinstance(row[0], Mapping) else module(row[0])
    return _list_state(module)


def _list_state(module):
    return dict(module.named_parameters()) | dict(module.named_buffers())


# The loop


def train_privately(net, X, codes, privacy, randomness, together, extras, verbose):
    """Train an initialized net: only its weights change.

    Shapes: X (n_rows, ...), codes (n_rows,).
    """
    training = _PrivateTraining(net, X, codes, privacy, randomness, together, extras)
    lots = training.lots()
    for lot in show_progress(lots, verbose, "steps", privacy.n_steps * privacy.n_epochs):
        training.step(lot)
    if privacy.poisson and training.n_steps != privacy.n_steps * privacy.n_epochs:
        raise RuntimeError(
            f"{training.n_steps} steps were made, and {privacy.n_steps * privacy.n_epochs} planned."
        )
    trained = training.gradients.parameters
    with torch.no_grad():
        for name, parameter in net.module_.named_parameters():
            if name in trained:
                parameter.copy_(trained[name])
    return training.n_steps


class _PrivateTraining:
    """The state of a training: a copy of the module, an optimizer, and where it is."""

    def __init__(self, net, X, codes, privacy, randomness, together, extras):
        self.net, self.privacy, self.randomness = net, privacy, randomness
        self.extras = extras
        self.rows, self.contributes = PrivateRows(net, X, codes), codes >= 0
        self.gradients = RowGradients(net.module_, net.criterion_)
        self.gradients.together = together
        self.parameters = list(self.gradients.parameters.values())
        named = self.gradients.module.named_parameters()
        groups, settings = net.get_params_for_optimizer("optimizer", named)
        self.optimizer = net.optimizer(*groups, **settings)
        _check_optimizer(self.optimizer, self.gradients.module)
        self.schedules = [
            (callback.step_every, callback.policy_(self.optimizer, **callback.kwargs))
            for callback in list_schedules(net)
        ]
        self.n_parameters = sum(parameter.numel() for parameter in self.parameters)
        self.grid = _choose_grid(privacy, len(codes))
        # Rounding adds at most half a step to each component of a row, which the noise pays for.
        rounding = 0.0 if self.grid is None else self.grid * math.sqrt(self.n_parameters)
        self.scale = privacy.noise_multiplier * (privacy.max_grad_norm + rounding)
        self.n_steps = 0
        self._turns = None

    # Lots

    def lots(self):
        """Yield the rows of each lot."""
        loader = None if self.privacy.poisson else self._make_loader()
        for _ in range(self.privacy.n_epochs):
            if loader is None:
                for _ in range(self.privacy.n_steps):
                    coins = self.randomness.coins(len(self.contributes), self.privacy.sample_rate)
                    yield np.flatnonzero(coins & self.contributes)
            else:
                yield from map(np.array, loader)
            self._schedule("epoch")

    def _make_loader(self):
        """Return the loader of the net, over numbers of rows."""
        settings = self.net.get_params_for("iterator_train") | {"collate_fn": list}
        settings.setdefault("batch_size", self.net.batch_size)
        if settings["batch_size"] == -1:
            settings["batch_size"] = len(self.contributes)
        return self.net.iterator_train(range(len(self.contributes)), **settings)

    # Steps

    def step(self, lot):
        """Make a step on the rows of a lot; on noise alone, if there are none."""
        totals = [0.0] * len(self.parameters)
        # What a module or a data set draws for rows must not follow a stream that can be known:
        # where a row is missing, all others get other numbers of it.
        apart = self.randomness.for_modules if self.privacy.noise_multiplier else nullcontext
        size = max(1, _MOST_NUMBERS // self.n_parameters)
        with apart():
            for start in range(0, len(lot), size):
                found = self.gradients(*self.rows.take(lot[start : start + size]))
                totals = self._add(totals, found)
        if self.extras.gradients is not None:
            totals = self._add(totals, self._draw_extra())
        self._release(totals)
        if self.extras.on_step is not None:
            noisy = _flatten_tensors(parameter.grad for parameter in self.parameters)
            self.extras.on_step(self.n_steps, noisy, _flatten_tensors(self.parameters))
        self.optimizer.step()
        self.n_steps += 1
        self._schedule("batch")

    def _add(self, totals, gradients):
        """Add the clipped gradients of rows to their sums, in whole steps of the grid."""
        factors = self._clip(gradients)
        # A product of 0 and infinity would be NaN. A grid is a power of two, so dividing by it is
        # exact.
        used = torch.nonzero(factors)[:, 0]
        factors = factors[used] / (1.0 if self.grid is None else self.grid)
        added = []
        for total, gradient in zip(totals, gradients, strict=True):
            if len(used) < len(gradient):
                gradient = gradient[used.to(gradient.device)]
            scales = factors.to(gradient.device)[:, None]
            size = max(1, _IN_CACHE // gradient.shape[1])
            for start in range(0, len(gradient), size):
                part = gradient[start : start + size].double() * scales[start : start + size]
                total = total + (part if self.grid is None else part.round_()).sum(dim=0)
            added.append(total)
        return added

    def _clip(self, gradients):
        """Return what each row's gradient is multiplied by; 0 where it is not finite."""
        squares = torch.zeros(len(gradients[0]), dtype=torch.float64)
        for gradient in gradients:
            size = max(1, _IN_CACHE // gradient.shape[1])
            for start in range(0, len(gradient), size):
                part = gradient[start : start + size].double().square().sum(dim=1)
                squares[start : start + size] += part.cpu()
        norms = squares.sqrt()
        usable = torch.isfinite(norms)  # with a component that is not, the sum is not finite either
        if self.privacy.max_grad_norm == np.inf:
            return usable.double()
        # Rounded down, so that the norm after clipping is not above the limit.
        factors = (self.privacy.max_grad_norm / norms * (1 - 1e-12)).clamp(max=1)
        return torch.where(usable, torch.nan_to_num(factors, nan=1.0), 0.0)

    def _release(self, totals):
        """Give the parameters their noisy gradients."""
        is_mean = self.gradients.criterion.reduction == "mean"
        divisor = self.privacy.expected_batch_size if is_mean else 1.0
        for parameter, total in zip(self.parameters, totals, strict=True):
            if not torch.is_tensor(total):
                total = torch.zeros(parameter.numel(), dtype=torch.float64)
            if self.grid is not None:
                scales = np.full(parameter.numel(), self.scale)
                noise = self.randomness.noise_in_steps(scales, self.grid)
                total = (total + torch.from_numpy(noise).to(total.device)) * self.grid
            gradient = (total / divisor).to(parameter.device, parameter.dtype)
            parameter.grad = gradient.view_as(parameter)

    def _schedule(self, event):
        for every, schedule in self.schedules:
            if every == event:
                schedule.step()

    # Gradients of an auditor

    def _draw_extra(self):
        """Return the gradients of the auditor that take part in this step, as those of rows do."""
        flat = _flatten_tensors(self.parameters)
        made = check_feature_matrix(
            self.extras.gradients(self.n_steps, flat),
            ensure_min_samples=0,
            dtype=np.float64,
            input_name="extra_gradients",
        )
        if made.shape[1] != len(flat):
            raise ValueError(
                f"extra_gradients must return gradients of {len(flat)} parameters; got an array of "
                f"shape {made.shape}."
            )
        taken = torch.from_numpy(made[self._choose_extra(len(made))])
        parts = taken.split([parameter.numel() for parameter in self.parameters], dim=1)
        pairs = zip(parts, self.parameters, strict=True)
        return [part.to(parameter.device) for part, parameter in pairs]

    def _choose_extra(self, n):
        if self.privacy.poisson:
            return self.randomness.coins(n, self.privacy.sample_rate)
        lots = len(self.contributes) / self.privacy.expected_batch_size
        drops = self.net.get_params_for("iterator_train").get("drop_last", False)
        n_turns = max(1, math.floor(lots) if drops else math.ceil(lots))
        turn = self.n_steps % n_turns
        if turn == 0:
            self._turns = np.floor(self.randomness.uniforms(n) * n_turns)
        if n != len(self._turns):
            raise ValueError(
                "With poisson_sampling=False, extra_gradients must return as many gradients in all "
                f"steps of an epoch; got {len(self._turns)} and {n}."
            )
        return self._turns == turn


def _check_optimizer(optimizer, module):
    """Refuse an optimizer that has made steps, or that would change other weights."""
    own = {id(parameter) for parameter in module.parameters()}
    groups = optimizer.param_groups
    if any(id(parameter) not in own for group in groups for parameter in group["params"]):
        raise ValueError(
            "The optimizer of the net holds weights that are not the net's; give its class, such "
            "as torch.optim.SGD."
        )
    steps = [state.get("step") for state in optimizer.state.values()]
    if any(step is not None and step > 0 for step in steps):
        raise ValueError(
            "The optimizer of the net has made steps before, which epsilon_ does not cover; give "
            "its class, such as torch.optim.SGD."
        )


def _choose_grid(privacy, n_rows):
    """Return the grid of the sums, which the settings alone determine; None without noise."""
    if not privacy.noise_multiplier:
        return None
    scale = privacy.noise_multiplier * privacy.max_grad_norm
    # A product that ends at 0 is refused like one that nearly does.
    grid = float(choose_grids(scale or np.nextafter(0, 1)))
    if n_rows * (privacy.max_grad_norm / grid) >= 2.0**53:
        raise ValueError(
            f"noise_multiplier={privacy.noise_multiplier:.3g} is too small for exact sums of "
            f"{n_rows} rows; use 0, or at least {n_rows / 2.0**22:.1g}."
        )
    return grid


def _flatten_tensors(tensors):
    # cat makes a copy, so that what was shown does not change with the next step.
    return torch.cat([tensor.detach().ravel() for tensor in tensors]).cpu().numpy()
