"""The random generators of one model, as it has them when it is trained alone."""

from contextlib import contextmanager

import torch

from ...._core.randomness import PROCESS_LOCK


class Stream:
    """Generators of one model: on the CPU, and on its device if that is another.

    They start from the global generators, in which a model that is trained alone draws.

    Parameters
    ----------
    device : torch device
        Device of the net.

    Attributes
    ----------
    cpu : torch Generator
        Draws orders of rows, and all numbers of nets on a CPU.
    own : torch Generator
        Draws numbers on the device; the same as ``cpu`` for a CPU.
    """

    def __init__(self, device):
        self.cpu = torch.Generator()
        self.cpu.set_state(torch.default_generator.get_state())
        self.own, self._pairs = self.cpu, [(torch.default_generator, self.cpu)]
        if device.type == "cuda":
            self.own = torch.Generator(device=device)
            self.own.set_state(torch.cuda.get_rng_state(device))
            index = torch.cuda.current_device() if device.index is None else device.index
            self._pairs.append((torch.cuda.default_generators[index], self.own))
        elif device.type != "cpu":
            self.own = torch.Generator(device=device)
            self.own.manual_seed(torch.initial_seed())

    @property
    def generators(self):
        """All generators, without repetition."""
        return [self.cpu] if self.own is self.cpu else [self.cpu, self.own]

    @contextmanager
    def installed(self):
        """Let global generators continue from those of the model, and go back at the end."""
        with PROCESS_LOCK:
            before = [theirs.get_state() for theirs, _ in self._pairs]
            for theirs, ours in self._pairs:
                theirs.set_state(ours.get_state())
            try:
                yield
            finally:
                for (theirs, ours), state in zip(self._pairs, before, strict=True):
                    ours.set_state(theirs.get_state())
                    theirs.set_state(state)
