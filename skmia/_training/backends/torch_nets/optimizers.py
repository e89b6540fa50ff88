"""Elementwise optimizers of torch, on parameters stacked over models.

Each computes the same as the single-tensor form of ``torch.optim``, up to rounding. Models may have
made different numbers of steps, because one may have one batch more per epoch than another.
"""

from functools import lru_cache

# Number of elements that are updated at once, so that the passes over them stay in the cache.
_BLOCK = 1 << 16


class UpdateRule:
    """Update rule of an optimizer for one stacked parameter.

    Parameters
    ----------
    settings : dict
        Parameter group of the optimizer, without regard to its parameters.
    """

    #: Names of the arrays in the state of each parameter.
    state: tuple = ()

    def __init__(self, settings, device="cpu"):
        self.settings, self.device = settings, device

    def start(self, name):
        """Return the initial value of an array of the state."""
        return 0.0

    def update_all(self, parameters, gradients, states, t):
        """Update several flat parameters in place."""
        for p, g, state in zip(parameters, gradients, states, strict=True):
            size = _BLOCK if self.device == "cpu" else max(1, len(p))
            for start in range(0, len(p), size):
                part = slice(start, start + size)
                self.update(p[part], g[part], [tensor[part] for tensor in state], t)

    def update(self, p, g, state, t):
        """Update ``p`` in place at step ``t``, from 1 on; ``g`` may be overwritten."""
        raise NotImplementedError

    def _decay(self, p, g):
        decay = self.settings["weight_decay"]
        return g.add_(p, alpha=decay) if decay else g


class SGDRule(UpdateRule):
    """Stochastic gradient descent with momentum, dampening and Nesterov's variant."""

    def __init__(self, settings, device="cpu"):
        super().__init__(settings, device)
        self.state = ("momentum",) if settings["momentum"] else ()

    def update(self, p, g, state, t):
        g = self._decay(p, g)
        momentum = self.settings["momentum"]
        if momentum:
            (velocity,) = state
            if t == 1:
                velocity.copy_(g)
            else:
                velocity.mul_(momentum).add_(g, alpha=1 - self.settings["dampening"])
            g = g.add_(velocity, alpha=momentum) if self.settings["nesterov"] else velocity
        p.add_(g, alpha=-self.settings["lr"])


@lru_cache
def _has_fused_adam(device):
    """Return whether this version of torch has a fused update of Adam."""
    import torch
    from torch.optim.adam import adam

    probe = torch.zeros(1, device=device)
    try:
        adam([probe], [probe], [probe], [probe], [], [probe], fused=True, **_NO_DECAY, **_DEFAULTS)
    except Exception:  # the error differs between versions and devices
        return False
    return True


_DEFAULTS = {"amsgrad": False, "beta1": 0.9, "beta2": 0.999, "lr": 0.0, "eps": 1e-8}
_NO_DECAY = {"weight_decay": 0.0, "maximize": False}


class AdamRule(UpdateRule):
    """Adam, its AMSGrad variant, and AdamW if the decay is decoupled."""

    decoupled = False

    def __init__(self, settings, device="cpu"):
        super().__init__(settings, device)
        self.state = ("mean", "square") + (("largest",) if settings["amsgrad"] else ())
        self.decoupled = self.decoupled or bool(settings.get("decoupled_weight_decay"))

    def update_all(self, parameters, gradients, states, t):
        """Update several flat parameters by torch's own function."""
        import torch
        from torch.optim.adam import adam
        from torch.optim.adamw import adamw

        means, squares, *largest = zip(*states, strict=True)
        beta1, beta2 = self.settings["betas"]
        # One tensor per parameter, because torch increments each of them in place.
        made = list(torch.full((len(parameters),), float(t - 1), device=parameters[0].device))
        (adamw if self.decoupled else adam)(
            parameters,
            gradients,
            list(means),
            list(squares),
            list(*largest),
            made,
            fused=_has_fused_adam(self.device),
            amsgrad=bool(largest),
            beta1=beta1,
            beta2=beta2,
            lr=self.settings["lr"],
            weight_decay=self.settings["weight_decay"],
            eps=self.settings["eps"],
            maximize=False,
        )


class AdamW(AdamRule):
    """Adam with decoupled weight decay."""

    decoupled = True


class RMSprop(UpdateRule):
    """RMSprop, centered or with momentum."""

    def __init__(self, settings, device="cpu"):
        super().__init__(settings, device)
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


class AdagradRule(UpdateRule):
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


RULES = {
    "SGD": SGDRule,
    "Adam": AdamRule,
    "AdamW": AdamW,
    "RMSprop": RMSprop,
    "Adagrad": AdagradRule,
}

_SETTINGS = {
    "SGD": {"momentum", "dampening", "weight_decay", "nesterov"},
    "Adam": {"betas", "eps", "weight_decay", "amsgrad", "decoupled_weight_decay"},
    "AdamW": {"betas", "eps", "weight_decay", "amsgrad"},
    "RMSprop": {"alpha", "eps", "weight_decay", "momentum", "centered"},
    "Adagrad": {"lr_decay", "weight_decay", "initial_accumulator_value", "eps"},
}


def why_not_optimizer(net):
    """Return the reason why the optimizer of a skorch net is not supported, or None."""
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
        if name in ("foreach", "fused"):  # other implementations of the same update
            continue
        if name == "param_groups":
            settings = [setting for _, group in value for setting in group.items()]
        else:
            settings = [(name, value)]
        for setting, number in settings:
            if setting not in _SETTINGS[kind.__name__] | {"lr"}:
                return f"optimizer__{setting} is not reproduced for many nets at once."
            if isinstance(number, torch.Tensor):
                return f"optimizer__{setting} is a tensor, which may change during training."
    return None


class StackedOptimizer:
    """The optimizers of many models in one.

    Shapes: parameters (n_models, n).
    """

    def __init__(self, kind, parameters, groups, places):
        import torch

        device = parameters[0].device.type if parameters else "cpu"
        self.rules = [RULES[kind](settings, device) for settings in groups]
        self._members = [[i for i, g in enumerate(places) if g == n] for n in range(len(groups))]
        self.parameters = parameters
        self.state = []
        for p, place in zip(parameters, places, strict=True):
            rule = self.rules[place]
            self.state.append([torch.full_like(p, rule.start(name)) for name in rule.state])
        self.n_steps = [0] * len(parameters[0]) if parameters else []
        self._rooms, self._parts = [None] * len(parameters), {}

    def step(self, models, gradients, groups_of):
        """Make one step of some models.

        Shapes: gradients (n_chosen, ...).
        """
        if not gradients:
            return
        gradients = [self._fill(i, models, g) for i, g in enumerate(gradients)]
        for run in _runs(list(zip(self.n_steps, groups_of.numbers)), models):
            rows = slice(models.start + run.start, models.start + run.stop)
            t = self.n_steps[rows.start] + 1
            self.n_steps[rows] = [t] * (rows.stop - rows.start)
            self._update(rows, [g[run].view(-1) for g in gradients], groups_of[rows.start], t)

    def _update(self, rows, gradients, groups, t):
        parameters, states = self._part(rows)
        for rule, chosen, settings in zip(self.rules, self._members, groups, strict=True):
            rule.settings = settings
            if chosen:
                own = [[part[i] for i in chosen] for part in (parameters, gradients, states)]
                rule.update_all(*own, t)

    def _part(self, rows):
        """Return flat views of the parameters and the state of some models."""
        key = rows.start, rows.stop
        if key not in self._parts:
            parameters = [p[rows].view(-1) for p in self.parameters]
            states = [[tensor[rows].view(-1) for tensor in state] for state in self.state]
            self._parts[key] = parameters, states
        return self._parts[key]

    def _fill(self, i, models, gradient):
        """Pad a gradient with zeros to the width of its parameter."""
        gradient, p = gradient.reshape(len(gradient), -1), self.parameters[i]
        if gradient.shape[1] == p.shape[1]:
            return gradient
        if self._rooms[i] is None:
            self._rooms[i] = p.new_zeros(p.shape)
        room = self._rooms[i][models]
        room[:, : gradient.shape[1]] = gradient
        room[:, gradient.shape[1] :] = 0
        return room


def _runs(counts, models):
    """Split the chosen models into slices with equal numbers of steps, and equal settings."""
    chosen = counts[models]
    stops = [i for i in range(1, len(chosen)) if chosen[i] != chosen[i - 1]] + [len(chosen)]
    return [slice(a, b) for a, b in zip([0, *stops], stops)] if chosen else []
