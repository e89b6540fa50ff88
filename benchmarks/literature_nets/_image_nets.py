"""Deep nets for small images."""

from torch import nn

from . import _blocks
from ._nets import make_net


def alexnet(n_channels=3, n_classes=10):
    """AlexNet for images of 32 x 32; see :func:`make_alexnet`."""
    layers = []
    for n_in, n_out, kernel, stride, padding, pools in [
        (n_channels, 64, 11, 4, 5, True),
        (64, 192, 5, 1, 2, True),
        (192, 384, 3, 1, 1, False),
        (384, 256, 3, 1, 1, False),
        (256, 256, 3, 1, 1, True),
    ]:
        layers += [nn.Conv2d(n_in, n_out, kernel, stride=stride, padding=padding), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if pools else []
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(256, n_classes))


def resnet(depth=20, n_channels=3, n_classes=10):
    """Residual net; see :func:`make_resnet`."""
    if depth == 18:
        widths, n_blocks, shortcut = (64, 128, 256, 512), 2, _blocks.projected_shortcut
    elif depth >= 8 and depth % 6 == 2:
        widths, n_blocks, shortcut = (16, 32, 64), depth // 6, _blocks.PaddedShortcut
    else:
        raise ValueError(f"depth must be 18 or one of 8, 14, 20, 26, ...; got {depth}.")
    n_in = widths[0]
    layers = [_blocks.conv(n_channels, n_in, 3), nn.BatchNorm2d(n_in), nn.ReLU()]
    for stage, width in enumerate(widths):
        for block in range(n_blocks):
            stride = 2 if stage and not block else 1
            layers.append(_blocks.basic_block(n_in, width, stride, shortcut))
            n_in = width
    return nn.Sequential(*layers, *_blocks.averaged(n_in, n_classes))


def densenet(depth=100, growth=12, n_channels=3, n_classes=10):
    """Dense net with bottlenecks; see :func:`make_densenet`."""
    if depth < 10 or depth % 6 != 4:
        raise ValueError(f"depth must be one of 10, 16, 22, 28, ...; got {depth}.")
    n_in = 2 * growth
    layers = [_blocks.conv(n_channels, n_in, 3)]
    for stage in range(3):
        for _ in range(depth // 6):
            layers.append(_blocks.dense_block(n_in, growth))
            n_in += growth
        layers += [nn.BatchNorm2d(n_in), nn.ReLU()]
        if stage < 2:
            layers += [_blocks.conv(n_in, n_in // 2, 1), nn.AvgPool2d(2)]
            n_in //= 2
    return nn.Sequential(*layers, *_blocks.averaged(n_in, n_classes))


def resnext(depth=29, cardinality=8, base_width=64, n_channels=3, n_classes=10):
    """Residual net of grouped convolutions; see :func:`make_resnext`."""
    if depth < 11 or depth % 9 != 2:
        raise ValueError(f"depth must be one of 11, 20, 29, 38, ...; got {depth}.")
    n_in, width = 64, cardinality * base_width
    layers = [_blocks.conv(n_channels, n_in, 3), nn.BatchNorm2d(n_in), nn.ReLU()]
    for stage in range(3):
        for block in range(depth // 9):
            stride, n_out = (2 if stage and not block else 1), 256 * 2**stage
            sizes = n_in, n_out, width * 2**stage
            layers.append(_blocks.grouped_block(*sizes, cardinality, stride))
            n_in = n_out
    return nn.Sequential(*layers, *_blocks.averaged(n_in, n_classes))


def make_alexnet(n_classes=10, n_channels=3, **settings):
    """Make an AlexNet for images of 32 x 32.

    The configuration that attacks on CIFAR use (Nasr et al., 2019): five convolutions (64 filters
    of 11 x 11 with stride 4; 192 of 5 x 5; 384, 256 and 256 of 3 x 3), three of them followed by
    maxima over 2 x 2, and one linear layer. It has 2,472,266 parameters for 10 classes, 2.47
    million as published.

    References
    ----------
    A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet Classification with Deep Convolutional Neural
    Networks", NIPS 2012.

    M. Nasr, R. Shokri, A. Houmansadr, "Comprehensive Privacy Analysis of Deep Learning", IEEE S&P
    2019.
    """
    return make_net(alexnet, {"n_channels": n_channels, "n_classes": n_classes}, **settings)


def make_resnet(depth=20, n_classes=10, n_channels=3, **settings):
    """Make a residual net for small images.

    With a depth of 6n + 2 the net of He et al. (2016) for CIFAR: three stages of n blocks with 16,
    32 and 64 filters and shortcuts without parameters; 269,722 parameters at depth 20, 1,727,962
    at depth 110 (published: 0.27 and 1.7 million). With depth 18 their net for large images with a
    first convolution of 3 x 3 and no pooling, as usual for CIFAR: 11,173,962 parameters.

    References
    ----------
    K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016.
    """
    parameters = {"depth": depth, "n_channels": n_channels, "n_classes": n_classes}
    return make_net(resnet, parameters, **settings)


def make_densenet(depth=100, growth=12, n_classes=10, n_channels=3, **settings):
    """Make a densely connected net for small images.

    DenseNet-BC of Huang et al. (2017): three stages of blocks with bottlenecks; each block adds
    ``growth`` channels, and half of the channels after a stage. It has 769,162 parameters at depth
    100 and growth 12 and 25,624,430 at depth 190 and growth 40 (published: 0.8 and 25.6 million).

    References
    ----------
    G. Huang, Z. Liu, L. van der Maaten, K. Weinberger, "Densely Connected Convolutional Networks",
    CVPR 2017.
    """
    parameters = {
        "depth": depth,
        "growth": growth,
        "n_channels": n_channels,
        "n_classes": n_classes,
    }
    return make_net(densenet, parameters, **settings)


def make_resnext(depth=29, cardinality=8, base_width=64, n_classes=10, n_channels=3, **settings):
    """Make a residual net of grouped convolutions for small images.

    ResNeXt-29, 8 x 64d of Xie et al. (2017) for CIFAR: three stages of three blocks with a
    convolution in eight groups; 34,426,698 parameters (published: 34.4 million). A net for a CPU is
    ``make_resnext(cardinality=2, base_width=16)`` with 1.9 million.

    References
    ----------
    S. Xie, R. Girshick, P. Dollár, Z. Tu, K. He, "Aggregated Residual Transformations for Deep
    Neural Networks", CVPR 2017.
    """
    parameters = {
        "depth": depth,
        "cardinality": cardinality,
        "base_width": base_width,
        "n_channels": n_channels,
        "n_classes": n_classes,
    }
    return make_net(resnext, parameters, **settings)
