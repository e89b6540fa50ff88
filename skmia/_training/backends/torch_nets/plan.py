"""Checks of whether a skorch net is supported; each returns the reason why not, or None."""

import re
from collections.abc import Mapping
from numbers import Integral

from sklearn.pipeline import Pipeline

from ...._core.augmentation import Augmentation
from ...._core.containers import is_tensor
from ...._core.numbers import show

_LOADER_PARAMETERS = {"batch_size", "drop_last", "num_workers", "pin_memory", "shuffle"}

# Methods for a batch of one net, which may be overridden.
_STEPS = ("train_step_single", "infer", "get_loss")

# Attributes that Python and scikit-learn add to every subclass.
_MADE = re.compile(r"__\w+__|set_\w+_request|_sklearn_\w+|_abc_\w+")


def find_net(estimator):
    """Return the skorch net that is the estimator or the last step of a Pipeline, or None."""
    model = estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
    classes = [f"{base.__module__}.{base.__name__}" for base in type(model).__mro__]
    return model if "skorch.net.NeuralNet" in classes else None


def why_not_estimator(estimator):
    """Return the reason why an estimator is not supported, judging by its parameters alone."""
    net = find_net(estimator)
    if net is None:
        return (
            f"{type(estimator).__name__} is neither a skorch net nor a Pipeline that ends in one."
        )
    if net is not estimator and estimator.memory is not None:
        return "A Pipeline with a memory fits copies of its steps."
    if net is not estimator and getattr(estimator, "transform_input", None):
        return "A Pipeline with transform_input passes further data to its steps."
    questions = (
        _ask_class,
        _ask_flow,
        _ask_callbacks,
        _ask_iterators,
        _ask_dataset,
        _ask_optimizer,
    )
    reasons = (question(net) for question in questions)
    return next((reason for reason in reasons if reason), None)


def why_not_class(estimator):
    """Return the reason why the class of a skorch net is not supported, or None."""
    net = find_net(estimator)
    return None if net is None else _ask_class(net)


def why_not_rows(X):
    """Return the reason why rows that reach a net are not supported, or None."""
    if isinstance(X, Mapping):
        reasons = (f"Of {name!r}: {why}" for name, part in X.items() if (why := why_not_rows(part)))
        return next(reasons, None)
    if is_tensor(X):
        return None
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if type(X).__module__.startswith(("scipy.", "pandas.")) or kind is None:
        return f"The net is given a {type(X).__name__}, not an array or a tensor."
    if kind not in "biuf":
        return f"The net is given an array of {X.dtype}, not of numbers."
    return None


def _ask_class(net):
    known = _families()
    if not isinstance(net, known):
        return f"{type(net).__name__} is none of {', '.join(family.__name__ for family in known)}."
    own = [name for name in overridden(net) if name not in _STEPS]
    return f"{type(net).__name__} overrides {own[0]} of skorch." if own else None


def _families():
    import skorch

    return skorch.NeuralNetClassifier, skorch.NeuralNetBinaryClassifier, skorch.NeuralNetRegressor


def overridden(net):
    """Return the names of attributes of skorch's classes that the class of a net changes."""
    known, own = _families(), []
    for base in type(net).__mro__:
        if base in known:
            return [name for name in own if hasattr(base, name) and not _MADE.fullmatch(name)]
        own.extend(vars(base))
    return []


def _ask_flow(net):
    if net.warm_start:
        return "warm_start=True continues from the weights of the last fit."
    if net.compile:
        return (
            "compile=True makes a program of each module, which rounds and draws in its own way; "
            "with compile=False many nets are trained in one program."
        )
    if net.use_caching is False:
        return "use_caching=False makes the scoring callbacks draw random numbers."
    if net.device is None:
        return "device=None does not say where the net is trained."
    if not isinstance(net.max_epochs, Integral):
        return f"max_epochs is {show(net.max_epochs)}, not an integer."
    return None


def _ask_callbacks(net):
    from .callbacks import why_not_callbacks

    return why_not_callbacks(net)


def _ask_iterators(net):
    from torch.utils.data import DataLoader

    for iterator in ("iterator_train", "iterator_valid"):
        if getattr(net, iterator) is not DataLoader:
            return f"{iterator} is not the DataLoader of torch."
        # A shuffled validation set would draw one more random number in each epoch.
        known = _LOADER_PARAMETERS - ({"shuffle"} if iterator == "iterator_valid" else set())
        settings = {"batch_size": net.batch_size, **net.get_params_for(iterator)}
        for name, value in settings.items():
            if name == "collate_fn" and isinstance(value, Augmentation):
                if iterator == "iterator_valid":
                    return "iterator_valid changes its batches at random."
                continue
            if name not in known and value is not None and value is not False:
                return f"{iterator}__{name} is not reproduced for many nets at once."
            if name == "num_workers" and value:
                return f"{iterator}__num_workers={value} loads the data in other processes."
        if not isinstance(settings["batch_size"], Integral):
            return f"The batch size of {iterator} is {settings['batch_size']!r}, not an integer."
    return None


def _ask_dataset(net):
    from skorch.dataset import Dataset

    if net.dataset is not Dataset or net.get_params_for("dataset"):
        return "The net has its own dataset."
    return None


def _ask_optimizer(net):
    from .optimizers import why_not_optimizer

    return why_not_optimizer(net)
