"""The two nets of a Wasserstein generator, and the gradients of its critic."""

from ..._core.optional import import_optional

_torch = "torch", "torch"


def make_critic(n_features, widths, negative_slope):
    """A critic; its answer has no bias, which would be the same for real and made-up rows."""
    nn = import_optional(*_torch).nn
    layers, n_in = [], n_features
    for width in widths:
        layers += [nn.Linear(n_in, width), nn.LeakyReLU(negative_slope)]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, 1, bias=False)).double()


def make_generator(n_latent, widths, n_outputs):
    """A generator; what its outputs mean is up to a layout of columns."""
    nn = import_optional(*_torch).nn
    layers, n_in = [], n_latent
    for width in widths:
        layers += [nn.Linear(n_in, width), nn.ReLU()]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, n_outputs)).double()


def layers_of(critic):
    """Weights and biases of a critic as lists of ndarrays."""
    linear = [layer for layer in critic if hasattr(layer, "weight")]
    weights = [layer.weight.detach().numpy() for layer in linear]
    return weights, [layer.bias.detach().numpy() for layer in linear[:-1]]


def penalize(critic, rows):
    """Sum over rows of the squared difference between the norm of the critic's gradient and 1."""
    torch = import_optional(*_torch)
    rows = rows.detach().requires_grad_()
    (slopes,) = torch.autograd.grad(critic(rows).sum(), rows, create_graph=True)
    return ((torch.linalg.vector_norm(slopes, dim=1) - 1) ** 2).sum()


def flat_gradient(loss, module):
    """Gradient of a number with respect to all parameters of a module, as one vector."""
    torch = import_optional(*_torch)
    parameters = list(module.parameters())
    # The penalty does not depend on biases.
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return torch.cat([gradient.ravel() for gradient in gradients])


def clipped_gradient(critic, real, made, mixed, penalty, max_norm):
    """Sum over real rows of a gradient that is clipped to a norm.

    The loss is the critic's on one real row, one made-up row and one between them. Clipped
    together they lose the same; real rows alone would lose to made-up ones that need no clipping.
    """
    torch = import_optional(*_torch)
    parameters = dict(critic.named_parameters())
    if len(real) == 0:
        return torch.zeros(
            sum(parameter.numel() for parameter in parameters.values()), dtype=real.dtype
        )

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
