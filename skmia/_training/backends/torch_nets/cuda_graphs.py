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
from .precision import read_precision
from .stack import has_convolutions

_logger = logging.getLogger("skmia")

# Steps of a shape before it is recorded, in which the libraries of the GPU choose their kernels.
_N_BEFORE = 3
# Steps that are made in both ways, to compare their gradients and their times.
_N_COMPARED = 2
# Largest difference from the gradients of the step, relative to the largest gradient of a
# parameter: some sums on a GPU are rounded in another order each time. Products of TF32 keep 11
# bits, and a library may choose others of its kernels for a recording.
_ROUNDING, _ROUNDING_TF32 = 1e-3, 1e-2
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
    """The steps of many models, from a recording of its kernels where that takes less time.

    One shape of step is recorded, the first that occurs a few times: that of full batches. A
    recording is given up if it fails, if its gradients differ from those of the step, or if it is
    not faster; both are measured on the next steps of the training.

    Parameters
    ----------
    step : JointStep
        Its ``compute`` returns the gradients of some models, and changes its ``state`` in place.
    """

    n_first = _N_BEFORE + _N_COMPARED

    def __init__(self, step, device):
        self._step, self._device = step, device
        self._seen, self._key, self._recording = Counter(), None, None
        self._times = []

    def compute(self, models, inputs):
        """Compute a step of some models like :meth:`JointStep.compute`."""
        key = _describe_shapes(models, inputs)
        if self._key is None:
            self._seen[key] += 1
            if self._seen[key] > _N_BEFORE:
                self._key = key
                self._try(lambda: CudaGraphStep(self._step, self._device, models, inputs))
        if key != self._key or self._recording is None:
            return self._step.compute(models, inputs)
        if not self._step.can_repeat:
            self._give_up("a setting of the optimizer was changed")
            return self._step.compute(models, inputs)
        if len(self._times) < _N_COMPARED:
            return self._compare(models, inputs)
        return self._recording.replay(inputs)

    def _try(self, record):
        before = self._copy_state()
        try:
            self._recording = record()
        except Exception as error:  # a step that waits for the device cannot be recorded
            self._give_up(describe_training_error(error))
        self._exchange_state(before)

    def _compare(self, models, inputs):
        """Make a step in both ways; only the usual one has an effect."""
        engine = self._step.engine
        kept = self._copy_state()
        usual, seconds = self._measure(self._step.compute, models, inputs)
        losses, fixed = engine.losses, list(engine.stack.fixed.values())
        self._exchange_state(kept)
        replayed, seconds_replayed = self._measure(self._recording.replay, inputs)
        # The state begins with the buffers of the modules, which a forward pass changes.
        are_equal = _are_equal_tensors(
            [*usual, *kept[: len(fixed)]], [*replayed, *fixed], self._choose_rounding()
        )
        self._exchange_state(kept)
        engine.losses = losses
        self._times.append((seconds, seconds_replayed))
        if not are_equal:
            self._give_up("its gradients differ")
        elif len(self._times) == _N_COMPARED:
            self._decide(ReplayTimes(*map(min, zip(*self._times, strict=True))))
        return usual

    def _choose_rounding(self):
        is_coarse = read_precision().rounds_factors(has_convolutions(self._step.engine.net.module_))
        return _ROUNDING_TF32 if is_coarse else _ROUNDING

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

    def _copy_state(self):
        return [tensor.clone() for tensor in self._step.state]

    def _exchange_state(self, kept):
        """Exchange the values of the state with other values, one tensor after the other."""
        for place, tensor in enumerate(self._step.state):
            present = tensor.clone()
            tensor.copy_(kept[place])
            kept[place] = present


class CudaGraphStep:
    """The recorded kernels of one step."""

    def __init__(self, step, device, models, inputs):
        self._engine, self._rooms = step.engine, inputs.copy()
        self._start, (self._gradients, self._losses) = record(
            lambda: (step.compute(models, self._rooms), step.engine.losses), device
        )

    def replay(self, inputs):
        """Make the step with other inputs of the same shapes; return its gradients.

        The next call overwrites them.
        """
        for room, values in zip(self._rooms.tensors, inputs.tensors, strict=True):
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


def _describe_shapes(models, inputs):
    shapes = tuple((part.shape, part.dtype) for part in inputs.tensors)
    return models.start, models.stop, shapes


def _are_equal_tensors(usual, replayed, rounding):
    """Return whether tensors are equal up to rounding."""
    return all(_are_close(*pair, rounding) for pair in zip(usual, replayed, strict=True))


def _are_close(usual, replayed, rounding):
    usual, replayed = usual.detach().double(), replayed.detach().double()
    largest = float(usual.abs().nan_to_num().max()) if usual.numel() else 0.0
    return torch.allclose(usual, replayed, rtol=0, atol=rounding * largest, equal_nan=True)
