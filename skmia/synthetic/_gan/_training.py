"""Training a generator against a critic; every step of the critic is covered by noise."""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from ..._core.optional import import_optional
from ...defenses.private_randomness import GRID_BITS, choose_grids, round_to
from ._bounds import gradient_bounds
from ._critic import (
    clipped_gradient,
    flat_gradient,
    layers_of,
    make_critic,
    make_generator,
    penalize,
)
from ._layout import Layout
from ._noise import Alternatives, share_noise, unit_scales
from ._penalty import penalty_bounds


class Plan(NamedTuple):
    """How a generator is trained."""

    critic_layers: tuple
    generator_layers: tuple
    negative_slope: float
    n_latent: int
    batch_size: int
    n_critic: int
    max_iter: int
    learning_rate: float
    penalty: float
    max_weight: float | None
    privacy: str | None
    noise: str
    penalty_bound: str
    noise_multiplier: float
    max_grad_norm: float
    max_spectral_norm: float | None = None


class Training:
    """A generator and its critic in training.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Real rows as their layout has them, the only thing here that is private.
    plan : Plan
        Settings of the training.
    randomness : PrivateRandomness
        Source of the coins, of the noise and of the made-up rows that go with real ones; all else
        comes from torch's generator.
    layout : Layout, default=None
        Of the columns. If None, all are numbers in [0, 1].
    """

    def __init__(self, rows, plan, randomness, layout=None):
        torch = import_optional("torch", "torch")
        self.rows, self.plan, self.randomness = torch.tensor(rows), plan, randomness
        self.layout = layout or Layout([1] * rows.shape[1])
        n_places = self.layout.n_places
        self.critic = make_critic(n_places, plan.critic_layers, plan.negative_slope)
        self.generator = make_generator(plan.n_latent, plan.generator_layers, n_places)
        n_components = sum(parameter.numel() for parameter in self.critic.parameters())
        self._alternatives = Alternatives.of_first_layer(
            self.layout.sizes, plan.critic_layers[0], n_components
        )
        self._optimizers = [
            torch.optim.Adam(module.parameters(), lr=plan.learning_rate, betas=(0.5, 0.9))
            for module in (self.critic, self.generator)
        ]
        self.history = []

    def run(self):
        """Train."""
        self._limit_weights()
        for _ in range(self.plan.max_iter):
            for _ in range(self.plan.n_critic):
                self.step_critic()
            self.step_generator()
        for optimizer in self._optimizers:  # what is left of the last step
            optimizer.zero_grad(set_to_none=True)

    def step_critic(self):
        """One step of the critic on a Poisson sample of the real rows."""
        lot = min(self.plan.batch_size, len(self.rows))
        coins = self.randomness.coins(len(self.rows), lot / len(self.rows))
        real = self.layout.expand(self.rows[coins.nonzero()[0]])
        gradient = self._release(real)
        if self.plan.privacy != "clipping":  # where each real row brings a made-up one with it
            gradient += flat_gradient(self.critic(self._draw(lot)).sum(), self.critic)
        optimizer = self._optimizers[0]
        parts = gradient.split([weights.numel() for weights in self.critic.parameters()])
        for parameter, part in zip(self.critic.parameters(), parts, strict=True):
            parameter.grad = part.view_as(parameter) / lot
        optimizer.step()
        self._limit_weights()

    def step_generator(self):
        """One step of the generator, which sees no real row."""
        optimizer = self._optimizers[1]
        optimizer.zero_grad()
        latent = self._draw_latent(min(self.plan.batch_size, len(self.rows)))
        made = self.layout.draw(self.generator(latent))
        (-self.critic(made).mean()).backward()
        optimizer.step()

    def _draw_latent(self, n):
        torch = import_optional("torch", "torch")
        return torch.randn(n, self.plan.n_latent, dtype=torch.float64)

    def _draw(self, n):
        torch = import_optional("torch", "torch")
        with torch.no_grad():
            return self.layout.draw(self.generator(self._draw_latent(n)))

    def _release(self, real):
        """Sum of the gradients of real rows and of their penalties, with noise."""
        torch = import_optional("torch", "torch")
        plan = self.plan
        scales = self._plan_noise()
        # Each real row gets a made-up one, between which and itself the penalty is taken. They are
        # drawn apart, as the rest of a known stream would show how many there were.
        with self.randomness.for_modules() if scales is not None else nullcontext():
            made = self._draw(len(real))
            mixed = torch.lerp(made, real, torch.rand(len(real), 1).double())
        if plan.privacy == "clipping":
            total = clipped_gradient(
                self.critic, real, made, mixed, plan.penalty, plan.max_grad_norm
            )
        else:
            loss = plan.penalty * penalize(self.critic, mixed) - self.critic(real).sum()
            total = flat_gradient(loss, self.critic)
        return total if scales is None else self._add_noise(total, scales)

    def _add_noise(self, total, scales):
        """Add noise in whole steps of a grid, so that the lowest digits tell nothing."""
        torch = import_optional("torch", "torch")
        if not self.plan.noise_multiplier:
            return total
        grids = choose_grids(scales / self._rounding_factor(len(scales)))
        noise = self.randomness.noise_in_steps(scales, grids)
        return torch.from_numpy((round_to(total.detach().numpy(), grids) + noise) * grids)

    def _plan_noise(self):
        """Standard deviation of the noise on each component of the sum; None without noise."""
        plan = self.plan
        if plan.privacy is None:
            return None
        if plan.privacy == "clipping":
            n = sum(parameter.numel() for parameter in self.critic.parameters())
            bounds, scales = (plan.max_grad_norm, np.nan), np.full(n, float(plan.max_grad_norm))
            moves = np.ones(n, dtype=bool)
        else:
            answer, penalty = self._bound()
            # The penalty of a row depends on all weights of a block.
            parts = (answer, self._alternatives), (penalty, None)
            scales = share_noise(*(unit_scales(part, plan.noise, one) for part, one in parts))
            n, moves = len(scales), answer + penalty > 0
            longest = np.sqrt(self._alternatives.largest_sum(answer**2))
            bounds = longest, np.linalg.norm(penalty)
        with np.errstate(over="ignore"):
            scales = plan.noise_multiplier * self._rounding_factor(n) * scales
        if plan.noise_multiplier:  # noise that ends at 0 is refused like noise that nearly does
            scales[moves & (scales == 0)] = np.nextafter(0, 1)
        lot = min(plan.batch_size, len(self.rows))
        self.history.append((*bounds, np.linalg.norm(scales) / lot))
        return scales

    def _rounding_factor(self, n_components):
        """By how much noise grows, as each component moves by one step more on its grid.

        The grid is at most 2^-29 of the noise before it grows, or both would grow together.
        """
        return 1 + self.plan.noise_multiplier * np.sqrt(n_components) * 2.0 ** (1 - GRID_BITS)

    def _bound(self):
        """The most that a row changes each component of the two sums, from the weights alone."""
        weights, biases = layers_of(self.critic)
        ends = gradient_bounds(weights, biases, self.plan.negative_slope, self.layout.sizes)
        answer = [np.maximum(abs(low), abs(high)).ravel() for low, high in ends]
        penalty = [np.zeros_like(part) for part in answer]
        # A bound on the norm of a layer is the norm of a vector of equal components: what counts
        # are sums of squares over the layer, which has the same noise throughout.
        for layer, bound in enumerate(penalty_bounds(weights, self.plan.penalty_bound)):
            penalty[2 * layer][:] = self.plan.penalty * bound / np.sqrt(weights[layer].size)
        return np.concatenate(answer), np.concatenate(penalty)

    def _limit_weights(self):
        torch = import_optional("torch", "torch")
        most, longest = self.plan.max_weight, self.plan.max_spectral_norm
        with torch.no_grad():
            for parameter in self.critic.parameters():
                if most is not None:
                    parameter.clamp_(-most, most)
                if longest is not None and parameter.ndim == 2:
                    norm = torch.linalg.matrix_norm(parameter, 2)
                    parameter.mul_(longest / norm.clamp(min=longest))
