"""Small nets that the literature attacks, as skorch estimators.

Functions make the modules, so that a clone of a net starts from weights of its own and
nothing of torch is imported before a net is made.
"""

from itertools import pairwise
from math import prod

import numpy as np

from .._core.numbers import check_count, show
from .._core.optional import import_optional

_ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh"}


def as_sizes(sizes, name):
    """A sequence of whole numbers as a tuple."""
    if isinstance(sizes, str) or not np.iterable(sizes):
        raise ValueError(f"{name} must be a sequence of whole numbers; got {show(sizes)}.")
    return tuple(sizes)


def check_sizes(**sizes):
    """Check that sizes of a net are whole numbers from 1 on, or sequences of them."""
    for name, size in sizes.items():
        for one in size if isinstance(size, tuple) else [size]:
            check_count(one, name)


def make_net(module, parameters, **settings):
    """A skorch classifier of a module that ends in logits.

    Parameters
    ----------
    module : callable
        Makes the module.
    parameters : dict
        Parameters of the module.
    **settings
        Of the net, instead of those that follow here.

    Returns
    -------
    net : skorch.NeuralNetClassifier
    """
    torch = import_optional("torch", "torch")
    skorch = import_optional("skorch", "torch")
    defaults = {
        "criterion": torch.nn.CrossEntropyLoss,
        "optimizer": torch.optim.Adam,
        "lr": 1e-3,
        "batch_size": 128,
        "max_epochs": 30,
        "iterator_train__shuffle": True,
        "train_split": None,  # else a fifth of the members would be none
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "verbose": 0,
    }
    module_parameters = {f"module__{name}": value for name, value in parameters.items()}
    return skorch.NeuralNetClassifier(module, **{**defaults, **module_parameters, **settings})


def dense_net(widths, activation="relu", batch_norm=False, weight_bound=None):
    """Linear layers of these widths, from the features to the logits.

    Parameters
    ----------
    widths : sequence of int
        Number of features, of units in each hidden layer, and of classes.
    activation : {"relu", "tanh"}, default="relu"
        Activation of the hidden layers.
    batch_norm : bool, default=False
        Whether there is batch normalization before each activation.
    weight_bound : float, default=None
        Weights and intercepts are drawn uniformly from minus to plus this number; as torch does
        it with None.

    Returns
    -------
    module : nn.Sequential
    """
    nn = import_optional("torch.nn", "torch")
    check_sizes(widths=widths)
    layers = []
    for n_in, n_out in pairwise(widths):
        layers.append(nn.Linear(n_in, n_out))
        if weight_bound is not None:
            nn.init.uniform_(layers[-1].weight, -weight_bound, weight_bound)
            nn.init.uniform_(layers[-1].bias, -weight_bound, weight_bound)
        if batch_norm:
            layers.append(nn.BatchNorm1d(n_out))
        layers.append(getattr(nn, _ACTIVATIONS[activation])())
    n_tail = 2 if batch_norm else 1  # the last layer gives logits
    return nn.Sequential(*layers[:-n_tail])


def conv_net(input_shape=(3, 32, 32), n_classes=10):
    """Four convolutions and three linear layers; see :func:`make_conv_net`.

    Parameters
    ----------
    input_shape : tuple of int, default=(3, 32, 32)
        Channels, height and width.
    n_classes : int, default=10
        Number of classes.

    Returns
    -------
    module : nn.Sequential
    """
    nn = import_optional("torch.nn", "torch")
    check_sizes(input_shape=input_shape, n_classes=n_classes)
    n_in, *sizes = input_shape
    layers = []
    for n_out, kernel, stride in [(16, 7, 1), (32, 6, 2), (64, 5, 1), (64, 5, 2)]:
        layers.append(nn.Conv2d(n_in, n_out, kernel, stride=stride, padding=2))
        layers += [nn.BatchNorm2d(n_out), nn.ReLU()]
        n_in, sizes = n_out, [(size + 4 - kernel) // stride + 1 for size in sizes]
    head = dense_net((n_in * prod(sizes), 64, 32, n_classes), batch_norm=True)
    return nn.Sequential(*layers, nn.Flatten(), *head)


def make_conv_net(input_shape=(3, 32, 32), n_classes=10, **settings):
    """Make the convolutional net for images of del Grosso (2023).

    Four convolutions with padding 2 (16 filters of 7 x 7; 32 of 6 x 6, stride 2; 64 of 5 x 5; 64
    of 5 x 5, stride 2), then linear layers of 64, 32 and n_classes units; batch normalization and
    ReLU after each but the last. It has 439,722 parameters for images of 3 x 32 x 32 and 376,714
    for 1 x 28 x 28, as published.

    Parameters
    ----------
    input_shape : tuple of int, default=(3, 32, 32)
        Channels, height and width.
    n_classes : int, default=10
        Number of classes.
    **settings
        Parameters of :class:`skorch.NeuralNetClassifier`. Without them it is trained for 30 epochs
        by Adam with a learning rate of 0.001, in batches of 128, on a GPU where there is one.

    Returns
    -------
    net : skorch.NeuralNetClassifier
        Not fitted. It takes images as float32 and labels 0, 1, 2, ... as int64.

    References
    ----------
    G. del Grosso Guzman, "Leakage of Sensitive Data from Deep Neural Networks", PhD thesis,
    Institut Polytechnique de Paris, 2023.

    Examples
    --------
    >>> from skmia.victims import make_conv_net
    >>> net = make_conv_net((1, 28, 28), max_epochs=5).initialize()
    >>> sum(parameter.numel() for parameter in net.module_.parameters())
    376714
    """
    parameters = {"input_shape": as_sizes(input_shape, "input_shape"), "n_classes": n_classes}
    return make_net(conv_net, parameters, **settings)


def make_pendigits_net(n_features=110, n_classes=10, **settings):
    """Make the net for handwritten digits on a tablet of del Grosso (2023).

    Hidden layers of 32, 16 and 16 units with batch normalization and ReLU: 4,650 parameters, as
    published.

    Parameters
    ----------
    n_features : int, default=110
        Number of features.
    n_classes : int, default=10
        Number of classes.
    **settings
        Parameters of :class:`skorch.NeuralNetClassifier`, as in :func:`make_conv_net`.

    Returns
    -------
    net : skorch.NeuralNetClassifier
        Not fitted. It takes features as float32 and labels 0, 1, 2, ... as int64.

    References
    ----------
    G. del Grosso Guzman, "Leakage of Sensitive Data from Deep Neural Networks", PhD thesis,
    Institut Polytechnique de Paris, 2023.

    Examples
    --------
    >>> from skmia.victims import make_pendigits_net
    >>> net = make_pendigits_net().initialize()
    >>> sum(parameter.numel() for parameter in net.module_.parameters())
    4650
    """
    parameters = {"widths": (n_features, 32, 16, 16, n_classes), "batch_norm": True}
    return make_net(dense_net, parameters, **settings)


def make_purchase_net(hidden_layer_sizes=(1024, 512), n_features=600, n_classes=100, **settings):
    """Make the nets with tanh that the literature trains on Purchase-100.

    Hidden layers of 1,024 and 512 units (Zarifzadeh et al., 2024; 1,191,524 parameters), or with
    ``hidden_layer_sizes=(128,)`` one of 128 (Shokri et al., 2017; 89,828 parameters).

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(1024, 512)
        Units of each hidden layer.
    n_features : int, default=600
        Number of features.
    n_classes : int, default=100
        Number of classes.
    **settings
        Parameters of :class:`skorch.NeuralNetClassifier`, as in :func:`make_conv_net`.

    Returns
    -------
    net : skorch.NeuralNetClassifier
        Not fitted. It takes features as float32 and labels 0, 1, 2, ... as int64.

    See Also
    --------
    skmia.datasets.fetch_purchase100 : The records.

    References
    ----------
    R. Shokri, M. Stronati, C. Song, V. Shmatikov, "Membership Inference Attacks Against Machine
    Learning Models", IEEE S&P 2017.

    S. Zarifzadeh, P. Liu, R. Shokri, "Low-Cost High-Power Membership Inference Attacks", ICML
    2024.

    Examples
    --------
    >>> from skmia.victims import make_purchase_net
    >>> make_purchase_net((128,)).initialize().module_[:2]
    Sequential(
      (0): Linear(in_features=600, out_features=128, bias=True)
      (1): Tanh()
    )
    """
    hidden = as_sizes(hidden_layer_sizes, "hidden_layer_sizes")
    widths = (n_features, *hidden, n_classes)
    return make_net(dense_net, {"widths": widths, "activation": "tanh"}, **settings)


def make_small_net(n_features, n_classes=2, **settings):
    """Make the net for tables of O'Dell (2023): one hidden layer of 8 units.

    Weights start uniform between -1 / sqrt(10) and 1 / sqrt(10), and are trained by plain gradient
    descent for 200 epochs with a learning rate of 0.01 and no regularization. The thesis leaves
    open the size of the batches (here 128), the activation (here ReLU) and where the intercepts
    start (here as the weights do).

    Parameters
    ----------
    n_features : int
        Number of features.
    n_classes : int, default=2
        Number of classes.
    **settings
        Parameters of :class:`skorch.NeuralNetClassifier`, instead of those above.

    Returns
    -------
    net : skorch.NeuralNetClassifier
        Not fitted. It takes features as float32 and labels 0, 1, 2, ... as int64.

    References
    ----------
    R. O'Dell, "Estimating Privacy Leakage of Machine Learning Models", MSc thesis, UCLA, 2023.

    Examples
    --------
    >>> from skmia.victims import make_small_net
    >>> net = make_small_net(20).initialize()
    >>> float(net.module_[0].weight.detach().abs().max()) <= 10**-0.5
    True
    """
    parameters = {"widths": (n_features, 8, n_classes), "weight_bound": 10**-0.5}
    sgd = import_optional("torch.optim", "torch").SGD
    defaults = {"optimizer": sgd, "lr": 0.01, "max_epochs": 200}
    return make_net(dense_net, parameters, **{**defaults, **settings})
