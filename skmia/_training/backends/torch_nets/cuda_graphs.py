"""Steps whose kernels are recorded on a GPU once and then replayed.

A GPU computes a step of small nets in less time than Python takes to start its kernels one after
the other. The recording of all kernels of a step is started by one call. It repeats the same
arithmetic on what its memory holds then, so the gradients are the same.
"""

import logging
from collections import Counter
from time import perf_counter
from typing import NamedTuple

import torch

from ...groups import describe_training_error
from .batches import change, list_row_tensors

_logger = logging.getLogger("skmia")

# Steps of a shape before it is recorded, in which the libraries of the GPU choose their kernels.
_N_BEFORE = 3
# Steps that are made in both ways, to compare their gradients and their times.
_N_COMPARED = 2
# Largest difference from the gradients of the step, relative to the largest gradient of a
# parameter: some sums on a GPU are rounded in another order each time.
_ROUNDING = 1e-3
_CLEARLY = 1.1


class ReplayTimes(NamedTuple):
    """Seconds of a step as it is, and of its replay."""

    usual: float
    replayed: float

    @property
    def are_worth_it(self):
        """Whether the replay is faster by more than the noise of a measurement."""
        return self.usual > _CLEARLY * self.replayed


class RecordedSteps:
    """The gradients of an engine, from a recording of its kernels where that takes less time.

    One shape of step is recorded, the first that occurs a few times: that of full batches. A
    recording is given up if it fails, if its gradients differ from those of the step, or if it is
    not faster; both are measured on the next steps of the training.
    """

    n_first = _N_BEFORE + _N_COMPARED

    def __init__(self, engine, device):
        self._engine, self._device = engine, device
        self._seen, self._key, self._recording = Counter(), None, None
        self._times = []

    def gradients(self, models, x, y, masks):
        """Compute the gradients of some models like :meth:`GradientEngine.gradients`."""
        key = _describe_shapes(models, x, y, masks)
        if self._key is None:
            self._seen[key] += 1
            if self._seen[key] > _N_BEFORE:
                self._key = key
                self._try(lambda: CudaGraphStep(self._engine, self._device, models, x, y, masks))
        if key != self._key or self._recording is None:
            return self._engine.gradients(models, x, y, masks)
        if len(self._times) < _N_COMPARED:
            return self._compare(models, x, y, masks)
        return self._recording.replay(x, y, masks)

    def _try(self, record):
        fixed = self._copy_fixed()
        try:
            self._recording = record()
        except Exception as error:  # a step that waits for the device cannot be recorded
            self._give_up(describe_training_error(error))
        self._put_back(fixed)

    def _compare(self, models, x, y, masks):
        """Make a step in both ways; only the usual one has an effect."""
        before = self._copy_fixed()
        usual, seconds = self._measure(self._engine.gradients, models, x, y, masks)
        after, losses = self._copy_fixed(), self._engine.losses
        self._put_back(before)
        replayed, seconds_replayed = self._measure(self._recording.replay, x, y, masks)
        are_equal = _are_equal_tensors(
            [*usual, *after], [*replayed, *self._engine.stack.fixed.values()]
        )
        self._put_back(after)
        self._engine.losses = losses
        self._times.append((seconds, seconds_replayed))
        if not are_equal:
            self._give_up("its gradients differ")
        elif len(self._times) == _N_COMPARED:
            self._decide(ReplayTimes(*map(min, zip(*self._times, strict=True))))
        return usual

    def _decide(self, times):
        if times.are_worth_it:
            _logger.debug("the kernels of a step are replayed: %s", times)
        else:
            self._give_up(f"it is not faster, {times}")

    def _give_up(self, reason):
        _logger.debug("the kernels of a step are not replayed: %s", reason)
        self._recording = None

    def _measure(self, function, *arguments):
        _wait(self._device)
        start = perf_counter()
        result = function(*arguments)
        _wait(self._device)
        return result, perf_counter() - start

    def _copy_fixed(self):
        return [tensor.clone() for tensor in self._engine.stack.fixed.values()]

    def _put_back(self, values):
        for tensor, value in zip(self._engine.stack.fixed.values(), values, strict=True):
            tensor.copy_(value)


class CudaGraphStep:
    """The recorded kernels of one step."""

    def __init__(self, engine, device, models, x, y, masks):
        self._engine = engine
        x = change(torch.clone, x)
        self._rooms = [*list_row_tensors(x), y.clone(), *(mask.clone() for mask in masks)]
        y, *masks = self._rooms[-1 - len(masks) :]
        self._start, (self._gradients, self._losses) = record(
            lambda: (engine.gradients(models, x, y, masks), engine.losses), device
        )

    def replay(self, x, y, masks):
        """Return the gradients for other values of the same shapes, until the next call."""
        for room, values in zip(self._rooms, (*list_row_tensors(x), y, *masks), strict=True):
            room.copy_(values)
        self._start()
        if self._engine.keeps_losses:
            self._engine.losses = self._losses.clone()  # the next step overwrites them
        return self._gradients


def record(function, device):
    """Record the kernels that a function starts on a GPU."""
    with torch.cuda.device(device):
        here, beside = torch.cuda.current_stream(), torch.cuda.Stream()
        beside.wait_stream(here)
        try:
            with torch.cuda.stream(beside):
                function()  # libraries take memory for a stream when they first use it
            here.wait_stream(beside)
            graph = torch.cuda.CUDAGraph()
            # With a stream of its own, as that of torch is on the GPU that was first recorded.
            with torch.cuda.graph(graph, stream=beside):
                results = function()
        finally:
            torch.cuda.set_stream(here)  # a recording that fails leaves its stream in use
    return graph.replay, results


def can_record(engine, device):
    """Return whether the steps of an engine on a device can be tried to be recorded."""
    return device.type == "cuda" and engine.repeats


def _wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _describe_shapes(models, x, y, masks):
    parts = [*list_row_tensors(x), y, *masks]
    return models.start, models.stop, tuple((part.shape, part.dtype) for part in parts)


def _are_equal_tensors(usual, replayed):
    """Return whether tensors are equal up to rounding."""
    return all(_are_close(*pair) for pair in zip(usual, replayed, strict=True))


def _are_close(usual, replayed):
    usual, replayed = usual.detach().double(), replayed.detach().double()
    largest = float(usual.abs().nan_to_num().max()) if usual.numel() else 0.0
    return torch.allclose(usual, replayed, rtol=0, atol=_ROUNDING * largest, equal_nan=True)
