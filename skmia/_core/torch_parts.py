"""The only module that uses private parts of torch, and families of layers by public names.

Each function has a test whose name says which part has changed if a new version breaks it.
"""

from .optional import import_optional

# The common base class of each family in torch is private.
_FAMILIES = {
    "batch norm": (
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "SyncBatchNorm",
        "LazyBatchNorm1d",
        "LazyBatchNorm2d",
        "LazyBatchNorm3d",
    ),
    "convolution": (
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
    ),
    "dropout": (
        "Dropout",
        "Dropout1d",
        "Dropout2d",
        "Dropout3d",
        "AlphaDropout",
        "FeatureAlphaDropout",
    ),
    "instance norm": (
        "InstanceNorm1d",
        "InstanceNorm2d",
        "InstanceNorm3d",
        "LazyInstanceNorm1d",
        "LazyInstanceNorm2d",
        "LazyInstanceNorm3d",
    ),
    "pooling": (
        "MaxPool1d",
        "MaxPool2d",
        "MaxPool3d",
        "AvgPool1d",
        "AvgPool2d",
        "AvgPool3d",
        "AdaptiveAvgPool1d",
        "AdaptiveAvgPool2d",
        "AdaptiveAvgPool3d",
        "AdaptiveMaxPool1d",
        "AdaptiveMaxPool2d",
        "AdaptiveMaxPool3d",
    ),
}


def list_layer_classes(*families):
    """Return the classes of some families of layers in torch."""
    nn = import_optional("torch", "torch").nn
    return tuple(getattr(nn, name) for family in families for name in _FAMILIES[family])


def has_hooks(module):
    """Return whether a module itself, not its children, has forward hooks."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


def uncompiled(module):
    """Return the module that was passed to ``torch.compile``, or the module itself."""
    return getattr(module, "_orig_mod", module)
