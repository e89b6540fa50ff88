"""Reading a torch module without changing it."""

from contextlib import ExitStack, contextmanager

import torch

from ..._core.containers import accepting_read_only
from ..._core.randomness import preserved_randomness


@contextmanager
def evaluating(module, with_gradients):
    """Put a module into evaluation mode; mode, buffers and random states are put back."""
    modes = [(part, part.training) for part in module.modules()]
    buffers = [
        (part, name, buffer, buffer.clone())
        for part, _ in modes
        for name, buffer in part.named_buffers(recurse=False, remove_duplicate=False)
    ]
    try:
        with ExitStack() as stack:
            stack.enter_context(preserved_randomness())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.set_grad_enabled(with_gradients))
            module.eval()
            yield
    finally:
        for part, mode in modes:
            part.training = mode
        for home, name, buffer, values in buffers:
            setattr(home, name, buffer)
            if not torch.equal(buffer, values):
                with torch.no_grad():
                    buffer.copy_(values)


@contextmanager
def without_fused_attention():
    """Context in which attention is computed by operations that can be vectorized."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:  # torch 2.2, where modules with attention are read record by record
        yield
        return
    enabled = torch.backends.mha.get_fastpath_enabled()
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def to_device(inputs, module):
    """Inputs as a tensor; floating-point numbers in the precision of the module."""
    parameter = next((weight for weight in module.parameters() if weight.is_floating_point()), None)
    with accepting_read_only():
        x = torch.as_tensor(inputs)
    if parameter is None:
        return x
    return x.to(parameter.device, parameter.dtype if x.is_floating_point() else x.dtype)
