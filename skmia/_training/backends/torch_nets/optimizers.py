"""Elementwise optimizers of torch, on parameters stacked over models.

Each computes the same as the single-tensor form of ``torch.optim``, up to rounding. Models may have
made different numbers of steps, because one may have one batch more per epoch than another.
"""

from functools import lru_cache

from ...._core.containers import is_tensor

# Number of elements that are updated at once, so that the passes over them stay in the cache.
_BLOCK = 1 << 16


def _descend(p, step, rate):
    """Subtract a step times a rate from parameters."""
    if is_tensor(rate):
        p.addcmul_(step, rate, value=-1)
    else:
        p.add_(step, alpha=-rate)


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

    def update_all(self, parameters, gradients, states, t, is_first):
        """Update several flat parameters in place at step ``t``, a number or a tensor."""
        for p, g, state in zip(parameters, gradients, states, strict=True):
            size = _BLOCK if self.device == "cpu" else max(1, len(p))
            for start in range(0, len(p), size):
                part = slice(start, start + size)
                self.update(p[part], g[part], [tensor[part] for tensor in state], t, is_first)

    def update(self, p, g, state, t, is_first):
        """Update ``p`` in place at step ``t``, from 1 on; ``g`` may get the decay of weights."""
        raise NotImplementedError

    def _decay(self, p, g):
        decay = self.settings["weight_decay"]
        return g.add_(p, alpha=decay) if decay else g


class SGDRule(UpdateRule):
    """Stochastic gradient descent with momentum, dampening and Nesterov's variant."""

    def __init__(self, settings, device="cpu"):
        super().__init__(settings, device)
        self.state = ("momentum",) if settings["momentum"] else ()

    def update(self, p, g, state, t, is_first):
        g = self._decay(p, g)
        momentum = self.settings["momentum"]
        if momentum:
            (velocity,) = state
            if is_first:
                velocity.copy_(g)
            else:
                velocity.mul_(momentum).add_(g, alpha=1 - self.settings["dampening"])
            g = g.add_(velocity, alpha=momentum) if self.settings["nesterov"] else velocity
        _descend(p, g, self.settings["lr"])


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


def _count_steps(n_steps, n_parameters, device):
    """Return a number of steps, which may be in a tensor, for each parameter."""
    import torch

    if is_tensor(n_steps):
        return n_steps.to(torch.float32).repeat(n_parameters)
    return torch.full((n_parameters,), float(n_steps), device=device)


_DEFAULTS = {"amsgrad": False, "beta1": 0.9, "beta2": 0.999, "lr": 0.0, "eps": 1e-8}
_NO_DECAY = {"weight_decay": 0.0, "maximize": False}


class AdamRule(UpdateRule):
    """Adam, its AMSGrad variant, and AdamW if the decay is decoupled."""

    decoupled = False

    def __init__(self, settings, device="cpu"):
        super().__init__(settings, device)
        self.state = ("mean", "square") + (("largest",) if settings["amsgrad"] else ())
        self.decoupled = self.decoupled or bool(settings.get("decoupled_weight_decay"))

    def update_all(self, parameters, gradients, states, t, is_first):
        """Update several flat parameters by torch's own function."""
        from torch.optim.adam import adam
        from torch.optim.adamw import adamw

        means, squares, *largest = zip(*states, strict=True)
        beta1, beta2 = self.settings["betas"]
        # One tensor per parameter, because torch increments each of them in place.
        made = list(_count_steps(t - 1, len(parameters), parameters[0].device))
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

    def update(self, p, g, state, t, is_first):
        g = self._decay(p, g)
        alpha, arrays = self.settings["alpha"], dict(zip(self.state, state, strict=True))
        square = arrays["square"].mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if self.settings["centered"]:
            mean = arrays["mean"].lerp_(g, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        step = g.div(square.sqrt().add_(self.settings["eps"]))
        if self.settings["momentum"]:
            step = arrays["momentum"].mul_(self.settings["momentum"]).add_(step)
        _descend(p, step, self.settings["lr"])


class AdagradRule(UpdateRule):
    """Adagrad with a decaying rate."""

    state = ("sum",)

    def start(self, name):
        return self.settings["initial_accumulator_value"]

    def update(self, p, g, state, t, is_first):
        g = self._decay(p, g)
        (total,) = state
        total.addcmul_(g, g)
        rate = self.settings["lr"] / (1 + (t - 1) * self.settings["lr_decay"])
        p.sub_(g.div(total.sqrt().add_(self.settings["eps"])).mul_(rate))


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

    Parameters
    ----------
    schedules : OptimizerSchedules
        Settings of each model.
    places : list of int
        Number of the parameter group of each parameter.
    n_made : Tensor of shape (n_models,) or None
        Number of steps of each model on its device. If it is given, learning rates are in a tensor
        too, so that no number that changes from step to step is a number of Python.
    """

    # Shapes: parameters (n_models, n).

    def __init__(self, kind, parameters, schedules, places, n_made=None):
        import torch

        device = parameters[0].device.type if parameters else "cpu"
        self.rules = [RULES[kind](settings, device) for settings in schedules[0]]
        n_groups = len(self.rules)
        self._members = [[i for i, g in enumerate(places) if g == n] for n in range(n_groups)]
        self.parameters, self._schedules = parameters, schedules
        self.state = []
        for p, place in zip(parameters, places, strict=True):
            rule = self.rules[place]
            self.state.append([torch.full_like(p, rule.start(name)) for name in rule.state])
        self.n_steps = [0] * len(parameters[0]) if parameters else []
        self._rooms, self._parts = [None] * len(parameters), {}
        self._n_made, self._taken = n_made, None
        if n_made is not None:
            self._rates = parameters[0].new_zeros(len(n_made), n_groups)

    def take_rates(self):
        """Take the learning rates of the next step into the memory of the device."""
        rates = self._schedules.list_rates()
        if rates != self._taken:
            self._taken, values = rates, self._rates.new_tensor(rates, device="cpu")
            self._rates.copy_(values[self._schedules.numbers])

    def step(self, models, gradients):
        """Make one step of some models, which :meth:`count_step` has to be told.

        Shapes: gradients (n_chosen, ...).
        """
        if not gradients:
            return
        gradients = [self._fill(i, models, g) for i, g in enumerate(gradients)]
        for run in self._find_runs(models):
            rows = slice(models.start + run.start, models.start + run.stop)
            self._update(rows, [g[run].view(-1) for g in gradients])

    def count_step(self, models):
        """Count a step of some models."""
        self.n_steps[models] = [n + 1 for n in self.n_steps[models]]

    def _find_runs(self, models):
        """Return parts of the models that have made the same steps with the same settings."""
        if self._n_made is None:
            counts = self.n_steps
        else:  # these parts stay the same in all epochs
            counts = self._schedules.n_batches
        return _runs(list(zip(counts, self._schedules.numbers)), models)

    def _read_numbers(self, k):
        """Return the settings of each parameter group of a model, and the number of its step."""
        groups = self._schedules[k]
        if self._n_made is None:
            return groups, self.n_steps[k] + 1
        rates = self._rates[k]
        return [{**group, "lr": rates[i]} for i, group in enumerate(groups)], self._n_made[k] + 1

    def _update(self, rows, gradients):
        parameters, states = self._part(rows)
        groups, t = self._read_numbers(rows.start)
        is_first = self.n_steps[rows.start] == 0
        for rule, chosen, settings in zip(self.rules, self._members, groups, strict=True):
            rule.settings = settings
            if chosen:
                own = [[part[i] for i in chosen] for part in (parameters, gradients, states)]
                rule.update_all(*own, t, is_first)

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
