"""Training a generator against a critic; every step of the critic is covered by noise."""

# Imported only where a generator is trained, because torch is an extra.

from contextlib import nullcontext

import numpy as np
import torch
from torch import nn

from ..defenses import COIN_BITS, choose_grids, round_to
from .critic_bounds import gradient_bounds, penalty_bounds

# Of the softmax whose slope stands for the slope of a drawn value.
_TEMPERATURE = 0.5


class ColumnLayout:
    """Columns side by side: a number takes one place, a column of m values a block of m.

    Rows are kept with one entry a column, a number in [0, 1] or the place of a value. A critic gets
    them expanded: in the block of a column, the place of its value is 1 and all others are 0.
    """

    def __init__(self, sizes):
        self.sizes = tuple(int(size) for size in sizes)
        self.n_places = sum(self.sizes)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(int)
        self.is_number = np.array(self.sizes) == 1

    def expand(self, rows):
        """Return the inputs of a critic, of shape (n, n_places)."""
        if self.is_number.all():
            return rows
        eye = nn.functional.one_hot
        parts = [
            column[:, None] if size == 1 else eye(column.long(), size).to(rows.dtype)
            for size, column in zip(self.sizes, rows.T, strict=True)
        ]
        return torch.cat(parts, dim=1)

    def draw(self, outputs):
        """Inputs of a critic drawn from outputs of a generator, with slopes for the outputs.

        The slope of a number is the slope of its sigmoid. A value is drawn, and has the slope of a
        softmax with the same random numbers (straight-through Gumbel softmax).
        """
        if self.is_number.all():
            return torch.sigmoid(outputs)
        noisy = outputs - torch.log(-torch.log(torch.rand_like(outputs)))
        parts = []
        blocks = outputs.split(self.sizes, dim=1), noisy.split(self.sizes, dim=1)
        for size, output, noised in zip(self.sizes, *blocks, strict=True):
            if size == 1:
                parts.append(torch.sigmoid(output))
                continue
            part = nn.functional.one_hot(noised.argmax(dim=1), size).to(noised.dtype)
            if noised.requires_grad:
                soft = torch.softmax(noised / _TEMPERATURE, dim=1)
                part = part + (soft - soft.detach())  # the difference is exactly 0
            parts.append(part)
        return torch.cat(parts, dim=1)

    def draw_rows(self, outputs, rng):
        """Return rows with one entry a column, drawn from outputs of a generator.

        Take outputs of shape (n, n_places); return rows of shape (n, n_columns).
        """
        columns = []
        for size, start in zip(self.sizes, self.starts, strict=True):
            output = outputs[:, start : start + size]
            if size == 1:
                columns.append(0.5 * (1 + np.tanh(output[:, 0] / 2)))  # a sigmoid
            else:
                columns.append((output + rng.gumbel(size=output.shape)).argmax(axis=1))
        return np.stack(columns, axis=1).astype(np.float64)


def make_critic(n_features, widths, negative_slope):
    """A critic; its answer has no bias, which would be the same for real and made-up rows."""
    hidden = _stack_hidden_layers(n_features, widths, lambda: nn.LeakyReLU(negative_slope))
    return nn.Sequential(*hidden, nn.Linear(widths[-1], 1, bias=False)).double()


def make_generator(n_latent, widths, n_outputs):
    """Return a generator; what its outputs mean is up to a layout of columns."""
    hidden = _stack_hidden_layers(n_latent, widths, nn.ReLU)
    return nn.Sequential(*hidden, nn.Linear(widths[-1], n_outputs)).double()


def _stack_hidden_layers(n_in, widths, activate):
    """Yield the hidden layers of these widths, each with its activation."""
    for width in widths:
        yield from (nn.Linear(n_in, width), activate())
        n_in = width


def list_critic_layers(critic):
    """Return the weights and biases of a critic as lists of ndarrays."""
    linear = [layer for layer in critic if hasattr(layer, "weight")]
    weights = [layer.weight.detach().numpy() for layer in linear]
    return weights, [layer.bias.detach().numpy() for layer in linear[:-1]]


def penalize(critic, rows):
    """Sum over rows of the squared difference between the norm of the critic's gradient and 1."""
    rows = rows.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(rows).sum(), rows, create_graph=True)
    return ((torch.linalg.vector_norm(slopes, dim=1) - 1) ** 2).sum()


def flat_gradient(loss, module):
    """Return the gradient of a number with respect to all parameters of a module, as one vector."""
    parameters = list(module.parameters())
    # The penalty does not depend on biases.
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return torch.cat([gradient.ravel() for gradient in gradients])


def clipped_gradient(critic, real, made, mixed, penalty, max_norm):
    """Sum over real rows of a gradient that is clipped to a norm.

    The loss is the critic's on one real row, one made-up row and one between them. Clipped together
    they lose the same; real rows alone would lose to made-up ones that need no clipping.
    """
    parameters = dict(critic.named_parameters())
    if len(real) == 0:
        n_components = sum(parameter.numel() for parameter in parameters.values())
        return torch.zeros(n_components, dtype=real.dtype)

    def answer(weights, row):
        return torch.func.functional_call(critic, weights, (row[None],)).sum()

    def loss(weights, real, made, mixed):
        slope = torch.func.grad(answer, argnums=1)(weights, mixed)
        difference = answer(weights, made) - answer(weights, real)
        return difference + penalty * (torch.linalg.vector_norm(slope) - 1) ** 2

    alone = torch.func.vmap(torch.func.grad(loss), (None, 0, 0, 0))
    gradients = alone(parameters, real, made, mixed)
    gradients = torch.cat([gradient.flatten(start_dim=1) for gradient in gradients.values()], dim=1)
    # A row whose gradient is not finite contributes nothing: 0 times infinity would be NaN.
    gradients[~torch.isfinite(gradients).all(dim=1)] = 0
    norms = torch.linalg.vector_norm(gradients, dim=1, keepdim=True)
    return (gradients * (max_norm / norms.clamp(min=max_norm))).sum(dim=0).detach()


class ExclusiveComponents:
    """Which components of a vector exclude each other.

    Components are in members, and members in groups: of each group, the components of a single
    member differ from 0 at a time. What one row changes is such a vector: of the weights of a block
    of values, it moves only those of its own value.
    """

    def __init__(self, member, group):
        self.member, self.group = member, group

    @classmethod
    def of_first_layer(cls, sizes, n_units, n_components):
        """For the parameters of a critic: one group for each block, and one for all else."""
        is_block = np.array(sizes) > 1
        n_values = int(np.sum(np.array(sizes)[is_block]))
        place = np.zeros(sum(sizes), int)  # member of each input; 0 is always there
        place[np.repeat(is_block, sizes)] = 1 + np.arange(n_values)
        member = np.zeros(n_components, int)
        member[: n_units * len(place)] = np.tile(place, n_units)
        blocks = np.repeat(1 + np.arange(is_block.sum()), np.array(sizes)[is_block])
        return cls(member, np.concatenate([[0], blocks]))

    def largest_sum(self, values):
        """Return the largest sum of components, none negative, that can differ from 0 together."""
        largest = np.zeros(self.group.max() + 1)
        np.maximum.at(largest, self.group, self.sum_members(values))
        return largest.sum()

    def sum_members(self, values):
        """Return the sum of the components of each member."""
        return np.bincount(self.member, values, len(self.group))


def unit_scales(widths, shape, alternatives=None):
    """Return the standard deviations that make a Gaussian mechanism with the noise multiplier 1.

    A vector whose components are at most widths in absolute value, each divided by its standard
    deviation, then has a norm of at most 1.
    """
    if alternatives is None:
        alternatives = ExclusiveComponents(np.zeros(len(widths), int), np.zeros(1, int))
    if shape == "spherical":
        return np.where(widths > 0, np.sqrt(alternatives.largest_sum(widths**2)), 0.0)
    if shape == "proportional":
        return np.sqrt(alternatives.largest_sum((widths > 0).astype(float))) * widths
    # A group with the share t of the squared norm needs, for each of its members, at least the sum
    # of variances (sum of widths)^2 / t. The best shares go with the roots of what groups need.
    sums = alternatives.sum_members(widths)
    roots = np.sqrt(np.bincount(alternatives.group, sums**2))
    shares = np.divide(roots, roots.sum(), out=np.ones_like(roots), where=roots > 0)
    per_member = sums / shares[alternatives.group]
    return np.sqrt(widths) * np.sqrt(per_member[alternatives.member])


def share_noise(first, second):
    """Scale the noise of two vectors so that releasing both has the noise multiplier 1.

    Multipliers z of the two, released together, make one of (z1**-2 + z2**-2)**-0.5. Of all that
    make 1, those with the smallest sum of variances are taken.
    """
    sizes = np.array([np.linalg.norm(first), np.linalg.norm(second)])
    squares = np.divide(sizes.sum(), sizes, out=np.ones(2), where=sizes > 0)
    return np.sqrt(squares[0] * first**2 + squares[1] * second**2)


class GanTraining:
    """A generator and its critic in training.

    rows (n_rows, n_features); plan has the parameters of DPWassersteinGAN.
    """

    # contributes (n_rows,): a row that does not is never drawn, and counts in sizes and rates

    def __init__(self, rows, plan, randomness, layout=None, contributes=None):
        self._contributes = np.ones(len(rows), bool) if contributes is None else contributes
        self.rows, self.plan, self.randomness = torch.tensor(rows), plan, randomness
        self.layout = layout or ColumnLayout([1] * rows.shape[1])
        n_places = self.layout.n_places
        self.critic = make_critic(n_places, plan.critic_layers, plan.negative_slope)
        self.generator = make_generator(plan.n_latent, plan.generator_layers, n_places)
        n_components = sum(parameter.numel() for parameter in self.critic.parameters())
        self._alternatives = ExclusiveComponents.of_first_layer(
            self.layout.sizes, plan.critic_layers[0], n_components
        )
        self._optimizers = [
            torch.optim.Adam(module.parameters(), lr=plan.learning_rate, betas=(0.5, 0.9))
            for module in (self.critic, self.generator)
        ]
        self.history = []

    def run(self):
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
        drawn = np.flatnonzero(coins & self._contributes)
        real = self.layout.expand(self.rows[drawn])
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
        return torch.randn(n, self.plan.n_latent, dtype=torch.float64)

    def _draw(self, n):
        with torch.no_grad():
            return self.layout.draw(self.generator(self._draw_latent(n)))

    def _release(self, real):
        """Return the sum of the gradients of real rows and of their penalties, with noise."""
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
        if not self.plan.noise_multiplier:
            return total
        grids = choose_grids(scales / self._rounding_factor(len(scales)))
        noise = self.randomness.noise_in_steps(scales, grids)
        return torch.from_numpy((round_to(total.detach().numpy(), grids) + noise) * grids)

    def _plan_noise(self):
        """Return the standard deviation of the noise on each component of the sum.

        None without noise.
        """
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
        return 1 + self.plan.noise_multiplier * np.sqrt(n_components) * 2.0 ** (1 - COIN_BITS)

    def _bound(self):
        """Return most that a row changes each component of the two sums, from the weights alone."""
        weights, biases = list_critic_layers(self.critic)
        ends = gradient_bounds(weights, biases, self.plan.negative_slope, self.layout.sizes)
        answer = [np.maximum(abs(low), abs(high)).ravel() for low, high in ends]
        penalty = [np.zeros_like(part) for part in answer]
        # A bound on the norm of a layer is the norm of a vector of equal components: what counts
        # are sums of squares over the layer, which has the same noise throughout.
        for layer, bound in enumerate(penalty_bounds(weights, self.plan.penalty_bound)):
            penalty[2 * layer][:] = self.plan.penalty * bound / np.sqrt(weights[layer].size)
        return np.concatenate(answer), np.concatenate(penalty)

    def _limit_weights(self):
        most, longest = self.plan.max_weight, self.plan.max_spectral_norm
        with torch.no_grad():
            for parameter in self.critic.parameters():
                if most is not None:
                    parameter.clamp_(-most, most)
                if longest is not None and parameter.ndim == 2:
                    norm = torch.linalg.matrix_norm(parameter, 2)
                    parameter.mul_(longest / norm.clamp(min=longest))
