"""Elementwise optimizers of torch, on parameters stacked over models.

Each computes what the single-tensor form of ``torch.optim`` does, up to rounding. Models may have
made different numbers of steps, as one may have a batch more in every epoch than another.
"""

from abc import ABC, abstractmethod

# Elements updated at once: the handful of passes over them then stays in the cache of a core.
_BLOCK = 1 << 16


class Rule(ABC):
    """How an optimizer changes one stacked parameter.

    Parameters
    ----------
    settings : dict
        ``defaults`` of the optimizer.
    """

    #: Names of the arrays that it keeps for each parameter.
    state: tuple = ()

    def __init__(self, settings):
        self.settings = settings

    def start(self, name):
        """First value of an array of the state."""
        return 0.0

    @abstractmethod
    def update(self, p, g, state, t):
        """Change ``p`` in place; ``t`` steps were made, this one included.

        ``g`` may be overwritten; ``t`` is an int, or a tensor that broadcasts over ``p``.
        """

    def _decay(self, p, g):
        decay = self.settings["weight_decay"]
        return g.add_(p, alpha=decay) if decay else g


def _is_first(t):
    # Every model with records takes part in the very first step, so that its t is one number.
    return isinstance(t, int) and t == 1


class SGD(Rule):
    """Stochastic gradient descent with momentum, dampening and Nesterov's variant."""

    def __init__(self, settings):
        super().__init__(settings)
        self.state = ("momentum",) if settings["momentum"] else ()

    def update(self, p, g, state, t):
        g = self._decay(p, g)
        momentum = self.settings["momentum"]
        if momentum:
            (velocity,) = state
            if _is_first(t):
                velocity.copy_(g)
            else:
                velocity.mul_(momentum).add_(g, alpha=1 - self.settings["dampening"])
            g = g.add_(velocity, alpha=momentum) if self.settings["nesterov"] else velocity
        p.add_(g, alpha=-self.settings["lr"])


class Adam(Rule):
    """Adam, its AMSGrad variant, and AdamW where the decay is decoupled."""

    decoupled = False

    def __init__(self, settings):
        super().__init__(settings)
        self.state = ("mean", "square") + (("largest",) if settings["amsgrad"] else ())

    def update(self, p, g, state, t):
        beta1, beta2 = self.settings["betas"]
        mean, square, *largest = state
        if self.decoupled or self.settings.get("decoupled_weight_decay"):
            p.mul_(1 - self.settings["lr"] * self.settings["weight_decay"])
        else:
            g = self._decay(p, g)
        mean.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if largest:
            square = largest[0].copy_(largest[0].maximum(square))
        root = (1 - beta2**t) ** 0.5
        size = self.settings["lr"] / (1 - beta1**t) * root
        denominator = square.sqrt().add_(self.settings["eps"] * root)
        if isinstance(t, int):
            p.addcdiv_(mean, denominator, value=-size)
        else:
            p.sub_(mean.div(denominator).mul_(size))


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    decoupled = True


class RMSprop(Rule):
    """RMSprop, centered or with momentum."""

    def __init__(self, settings):
        super().__init__(settings)
        self.state = ("square",)
        self.state += ("mean",) if settings["centered"] else ()
        self.state += ("momentum",) if settings["momentum"] else ()

    def update(self, p, g, state, t):
        g = self._decay(p, g)
        alpha, arrays = self.settings["alpha"], dict(zip(self.state, state, strict=True))
        square = arrays["square"].mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if self.settings["centered"]:
            mean = arrays["mean"].lerp_(g, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        step = g.div_(square.sqrt().add_(self.settings["eps"]))
        if self.settings["momentum"]:
            step = arrays["momentum"].mul_(self.settings["momentum"]).add_(step)
        p.add_(step, alpha=-self.settings["lr"])


class Adagrad(Rule):
    """Adagrad with a decaying rate."""

    state = ("sum",)

    def start(self, name):
        return self.settings["initial_accumulator_value"]

    def update(self, p, g, state, t):
        g = self._decay(p, g)
        (total,) = state
        total.addcmul_(g, g)
        rate = self.settings["lr"] / (1 + (t - 1) * self.settings["lr_decay"])
        p.sub_(g.div_(total.sqrt().add_(self.settings["eps"])).mul_(rate))


RULES = {"SGD": SGD, "Adam": Adam, "AdamW": AdamW, "RMSprop": RMSprop, "Adagrad": Adagrad}

_SETTINGS = {
    "SGD": {"momentum", "dampening", "weight_decay", "nesterov"},
    "Adam": {"betas", "eps", "weight_decay", "amsgrad", "decoupled_weight_decay"},
    "AdamW": {"betas", "eps", "weight_decay", "amsgrad"},
    "RMSprop": {"alpha", "eps", "weight_decay", "momentum", "centered"},
    "Adagrad": {"lr_decay", "weight_decay", "initial_accumulator_value", "eps"},
}


def why_not_optimizer(net):
    """Reason why the optimizer of a skorch net is refused, by its class and parameters."""
    import torch

    kind = net.optimizer
    if RULES.keys().isdisjoint({getattr(kind, "__name__", "")}) or kind is not getattr(
        torch.optim, kind.__name__
    ):
        return (
            f"The optimizer {getattr(kind, '__name__', kind)!s} of the net is none of "
            f"{', '.join(RULES)}."
        )
    for name, value in {"lr": net.lr, **net.get_params_for("optimizer")}.items():
        if name in ("foreach", "fused"):  # the same numbers by other loops
            continue
        if name not in _SETTINGS[kind.__name__] | {"lr"}:
            return f"optimizer__{name} is not reproduced for many nets at once."
        if isinstance(value, torch.Tensor):
            return f"optimizer__{name} is a tensor, which may change during training."
    return None


class StackedOptimizer:
    """An optimizer of each of many models, in one.

    Parameters
    ----------
    optimizer : torch Optimizer
        That of one of the models, before its first step.
    parameters : list of Tensor of shape (n_models, ...)
        Changed in place.
    """

    def __init__(self, optimizer, parameters):
        import torch

        self.rule = RULES[type(optimizer).__name__](optimizer.defaults)
        self.parameters = parameters
        self.state = [
            [torch.full_like(p, self.rule.start(name)) for name in self.rule.state]
            for p in parameters
        ]
        self.n_steps = torch.zeros(len(parameters[0]), dtype=torch.int64) if parameters else None

    def step(self, models, gradients):
        """One step of some models.

        Parameters
        ----------
        models : slice
            Which.
        gradients : list of Tensor of shape (n_chosen, ...)
            Overwritten.
        """
        if self.n_steps is None:
            return
        self.n_steps[models] += 1
        counts = self.n_steps[models]
        first, last = int(counts.min()), int(counts.max())
        for p, g, state in zip(self.parameters, gradients, self.state, strict=True):
            t = first if first == last else _like(counts, p)
            self._update(p[models], g, [one[models] for one in state], t)

    def _update(self, p, g, state, t):
        arrays = [p, g.contiguous(), *state]
        if isinstance(t, int):
            arrays = [one.view(-1) for one in arrays]
        size = max(1, _BLOCK * len(arrays[0]) // max(1, p.numel()))
        if p.device.type != "cpu" or size >= len(arrays[0]):
            size = len(arrays[0])
        for start in range(0, len(arrays[0]), size):
            p, g, *state = (one[start : start + size] for one in arrays)
            self.rule.update(p, g, state, t if isinstance(t, int) else t[start : start + size])


def _like(counts, p):
    return counts.to(p).reshape(-1, *[1] * (p.ndim - 1))
