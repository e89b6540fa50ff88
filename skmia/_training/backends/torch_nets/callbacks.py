"""Callbacks of skorch that are reproduced when many nets are trained together."""

import copy
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

from ...._core.numbers import show
from ...._core.randomness import preserved_randomness
from ...._core.weight_average import WeightAverage

# Callbacks that neither change a weight nor draw a random number.
_RECORDING = {"EpochTimer", "PassthroughScoring", "PrintLog", "ProgressBar"}

_FOLLOWED = "ReduceLROnPlateau follows {}; for many nets it can follow a loss after each epoch."


def why_not_callbacks(net):
    """Return the reason why a callback of a skorch net is not supported, or None."""
    if net.callbacks == "disable":
        return None
    entries = net.callbacks or []
    callbacks = [entry[1] if isinstance(entry, (tuple, list)) else entry for entry in entries]
    for callback in callbacks:
        reason = _why_not_callback(callback, net)
        if reason:
            return reason
    names = [_name_callback(callback) for callback in callbacks]
    for name in ("EarlyStopping", "WeightAverage"):
        if names.count(name) > 1:
            return f"Several {name} callbacks are not reproduced for many nets at once."
    if {"EarlyStopping", "WeightAverage"} <= set(names):
        return "EarlyStopping and WeightAverage are not reproduced together for many nets at once."
    for name, value in vars(net).items():
        if name.startswith("callbacks__") and value is not None:
            return f"The parameter {name} may change the training."
    return None


def _name_callback(callback):
    """Return the name of a callback of skorch or skmia; None for other classes."""
    kind = callback if isinstance(callback, type) else type(callback)
    if kind is WeightAverage:
        return kind.__name__
    return kind.__name__ if kind.__module__.startswith("skorch.") else None


def _why_not_callback(callback, net):
    name = _name_callback(callback)
    if name in _RECORDING or name in ("GradientNormClipping", "WeightAverage"):
        return None
    if name == "EpochScoring":
        return _why_not_scoring(callback, net)
    if name == "LRScheduler":
        return _why_not_policy(callback, net)
    if name == "EarlyStopping":
        return _why_not_stopping(callback, net)
    kind = callback if isinstance(callback, type) else type(callback)
    return f"The callback {kind.__name__} may change the training."


def _why_not_stopping(callback, net):
    monitor = getattr(callback, "monitor", "valid_loss")
    if monitor != "valid_loss":
        return f"EarlyStopping follows {show(monitor)}; for many nets it can follow 'valid_loss'."
    if net.train_split is None:
        return "EarlyStopping needs a validation set, and train_split is None."
    if net.get_params_for("iterator_valid").get("drop_last"):
        return "EarlyStopping needs the losses that iterator_valid__drop_last leaves out."
    if getattr(callback, "sink", print) is not print:
        return "EarlyStopping calls a sink of its own."
    return None


def _why_not_scoring(callback, net):
    from sklearn.metrics import get_scorer

    if net.use_caching == "auto" and not getattr(callback, "use_caching", True):
        return "EpochScoring(use_caching=False) draws random numbers in each epoch."
    scoring = getattr(callback, "scoring", None)
    if scoring is None or isinstance(scoring, (str, type(get_scorer("accuracy")))):
        return None
    return "EpochScoring calls a function that may change the training; give it a metric by name."


def _why_not_policy(callback, net):
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    if getattr(callback, "policy", None) not in (ReduceLROnPlateau, "ReduceLROnPlateau"):
        return None
    return _why_not_followed(callback, net)


def _why_not_followed(scheduler, net):
    followed = scheduler.monitor
    if followed not in ("train_loss", "valid_loss") or scheduler.step_every != "epoch":
        return _FOLLOWED.format(show(followed))
    if followed == "train_loss":
        return None
    if net.train_split is None:
        return "ReduceLROnPlateau follows 'valid_loss', and train_split is None."
    if net.get_params_for("iterator_valid").get("drop_last"):
        return "ReduceLROnPlateau follows losses that iterator_valid__drop_last leaves out."
    return None


def why_not_followed(net):
    """Return the reason why what the schedules of an initialized net follow is not supported."""
    schedulers = schedulers_of(net)
    try:
        with preserved_randomness():
            begin(schedulers, SimpleNamespace(optimizer_=net.optimizer_, history=[]))
    except Exception:  # the check trains the net, and finds the error
        return None
    followed = [schedule for schedule in schedulers if list_monitored([schedule])]
    reasons = (_why_not_followed(schedule, net) for schedule in followed)
    return next(filter(None, reasons), None)


def list_monitored(schedulers):
    """Return the names of the losses that some schedulers follow, after they have begun."""
    from torch.optim.lr_scheduler import ReduceLROnPlateau

    return {one.monitor for one in schedulers if isinstance(one.lr_scheduler_, ReduceLROnPlateau)}


def average_of(net):
    """Return the WeightAverage of an initialized net, or None."""
    return next(iter(_find_callbacks(net, "WeightAverage")), None)


def stoppers_of(net):
    """Return a list with a copy of the EarlyStopping of an initialized net, empty without one."""
    return [copy.copy(one).initialize() for one in _find_callbacks(net, "EarlyStopping")]


def schedulers_of(net):
    """Return copies of the learning rate schedulers of an initialized net, in order."""
    copies = [copy.copy(one) for one in _find_callbacks(net, "LRScheduler")]
    for one in copies:
        one.event_name = None  # nothing is written into a history
        one.initialize()
    return copies


@contextmanager
def quietly():
    """Ignore warnings of torch, whose own schedulers call each other in deprecated ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def begin(schedulers, net):
    """Let the schedulers of a net start."""
    for one in schedulers:
        with quietly():
            one.on_train_begin(net)


def clips_of(net):
    """Return the largest norm of the gradients, and the order of the norm, for each clipping."""
    clips = [
        (one.gradient_clip_value, float(one.gradient_clip_norm_type))
        for one in _find_callbacks(net, "GradientNormClipping")
    ]
    return [clip for clip in clips if clip[0] is not None]


def _find_callbacks(net, name):
    # Only callbacks that ``why_not_callbacks`` has accepted, so the class is skorch's.
    return [one for _, one in getattr(net, "callbacks_", ()) if type(one).__name__ == name]
