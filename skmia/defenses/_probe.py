"""Whether a row changes what others contribute, or leaves something that no noise covers.

Clipping bounds what a row does only where its gradient depends on that row alone. Types of layers
do not tell: a module may divide by the largest value of a batch, a loss by the rows that it does
not ignore. So a copy of the net is given synthetic rows in changing company, by the very steps of
training.
"""

import copy
import warnings

import numpy as np

from .._core.optional import import_optional
from .._core.randomness import preserved_randomness
from .._core.torch_parts import layers_of

_N_ROWS = 8

# Share of the largest gradient by which two passes may differ by rounding.
_TOLERANCE = {"float64": 1e-6, "float32": 1e-3}


def check_rows_apart(net, row_shape, n_units, *, in_batches=True):
    """Check that rows of an initialized net do not change each other's gradients or its buffers.

    Parameters
    ----------
    net : skorch net
        Initialized; it is copied and not changed.
    row_shape : tuple of int
        Shape of the features of a row.
    n_units : int
        Number of output units.
    in_batches : bool, default=True
        If False, rows go through the net one by one, and only its buffers are looked at.

    Raises
    ------
    ValueError
        If a gradient or a buffer depends on the other rows of a batch, or the net cannot be probed.
    """
    probe = _Probe(net, n_units, in_batches)
    last = None
    for features in _made_up(row_shape, probe.dtype):
        try:
            with preserved_randomness(), warnings.catch_warnings():
                # Features take no gradients, which is how it should be.
                warnings.filterwarnings("ignore", "Full backward hook is firing")
                probe.check(features)
        except (IndexError, RuntimeError) as error:  # values that the module does not take
            last = error
        else:
            return
    raise ValueError(
        f"The net cannot be tried with synthetic rows ({type(last).__name__}: {last}), so it is "
        "unknown whether its rows see each other."
    )


def _made_up(row_shape, dtype):
    """Batches of rows to try: of very different sizes, or zeros and ones as codes would be."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(2 * _N_ROWS, *row_shape))
    wide[_N_ROWS - 1] = 1e6
    wide[_N_ROWS] = 0
    yield wide.astype(dtype)
    yield rng.integers(0, 2, size=wide.shape).astype(dtype)


class _Probe:
    """A copy of a net whose steps are taken on made-up rows."""

    def __init__(self, net, n_units, in_batches):
        torch = import_optional("torch", "torch")
        self.net = copy.deepcopy(net)
        self.n_units, self.in_batches = n_units, in_batches
        for layer in self.net.module_.modules():
            if isinstance(layer, layers_of("dropout")):
                layer.p = 0.0
        parameter = next(self.net.module_.parameters())
        self.dtype = "float64" if parameter.dtype == torch.float64 else "float32"
        if in_batches:
            grad_sample = import_optional("opacus.grad_sample", "dp")
            reduction = self.net.criterion_.reduction
            self.net.module_ = grad_sample.GradSampleModule(
                self.net.module_, loss_reduction=reduction
            )
        self._state = copy.deepcopy(self.net.module_.state_dict())

    def check(self, features):
        labels = np.arange(2 * _N_ROWS) % self.n_units
        own, others = features[:_N_ROWS], features[_N_ROWS:]
        batch = self._gradients(own, labels[:_N_ROWS])
        buffers = self._buffers()
        for row in (0, 1):
            for label in range(min(self.n_units, 3)):
                # The same row, in another place, among others with another label.
                company = np.concatenate([others[:3], own[row : row + 1], others[4:]])
                codes = np.full(_N_ROWS, label)
                codes[3] = labels[row]
                other = self._gradients(company, codes)
                if self.in_batches:
                    self._compare(batch[row], other[3])
                self._compare_buffers(buffers, self._buffers())

    def _gradients(self, features, codes):
        """Gradient of each row as training takes it, (n_rows, n_parameters); None one by one."""
        torch = import_optional("torch", "torch")
        self.net.module_.load_state_dict(self._state)
        self.net.module_.zero_grad()
        torch.manual_seed(0)
        settings = self.net.get_params_for("iterator_train")
        collate = settings.get("collate_fn") or torch.utils.data.default_collate
        dataset = self.net.get_dataset(features, codes.astype(np.int64))
        rows = [dataset[k] for k in range(len(features))]
        if not self.in_batches:
            for row in rows:
                self.net.train_step_single(collate([row]))
            return None
        self.net.train_step_single(collate(rows))
        parts = [
            parameter.grad_sample.flatten(start_dim=1).double().cpu()
            for parameter in self.net.module_.parameters()
            if parameter.requires_grad
        ]
        return torch.cat(parts, dim=1).numpy()

    def _buffers(self):
        names = [name.removeprefix("_module.") for name, _ in self.net.module_.named_buffers()]
        values = [value.detach().clone() for _, value in self.net.module_.named_buffers()]
        return dict(zip(names, values, strict=True))

    def _compare(self, first, second):
        limit = _TOLERANCE[self.dtype] * np.nanmax([np.abs(first), np.abs(second)], initial=0)
        same = (np.abs(first - second) <= limit) | ~(np.isfinite(first) & np.isfinite(second))
        if not same.all() or np.isfinite(first).all() != np.isfinite(second).all():
            raise ValueError(
                "The gradient of a row depends on the other rows of its batch (through a layer, "
                "the loss or collate_fn), so clipping does not bound what one row changes. Use "
                'layers and losses of single rows, or grad_sample_mode="rows".'
            )

    def _compare_buffers(self, first, second):
        torch = import_optional("torch", "torch")
        for name, value in first.items():
            if not torch.equal(value, second[name]):
                raise ValueError(
                    f"The buffer {name!r} of the net changes with the rows that it sees, which no "
                    "noise covers; use track_running_stats=False, or leave it out."
                )
