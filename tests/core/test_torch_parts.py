"""Private parts of torch that skmia uses: a new version that moves one fails by its name."""

import pytest
from moved import moved

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from skmia._core.torch_parts import has_hooks, list_layer_classes, uncompiled  # noqa: E402

pytestmark = pytest.mark.contract


def test_hooks_of_a_module():
    with moved("torch's modules no longer keep hooks in _forward_hooks and _forward_pre_hooks."):
        for register in ("register_forward_hook", "register_forward_pre_hook"):
            layer = nn.Linear(2, 1)
            assert not has_hooks(layer)
            handle = getattr(layer, register)(lambda *args: None)
            assert has_hooks(layer)
            handle.remove()
            assert not has_hooks(layer)


def test_a_module_inside_another_is_found_by_the_attribute_of_compiled_ones():
    layer = nn.Linear(2, 1)
    around = nn.Sequential()
    around._orig_mod = layer
    assert uncompiled(around) is layer and uncompiled(layer) is layer


@pytest.mark.slow  # torch imports its compiler for seconds; the test above has its attribute
# torch warns of its own parts when it is asked to compile.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_module_inside_a_compiled_one():
    layer = nn.Linear(2, 1)
    with moved("torch.compile no longer keeps the module in _orig_mod."):
        assert uncompiled(torch.compile(layer)) is layer and uncompiled(layer) is layer


@pytest.mark.parametrize(
    ("family", "module", "base"),
    [
        ("batch norm", "batchnorm", "_BatchNorm"),
        ("convolution", "conv", "_ConvNd"),
        ("dropout", "dropout", "_DropoutNd"),
        ("instance norm", "instancenorm", "_InstanceNorm"),
        ("pooling", "pooling", "_MaxPoolNd"),
        ("pooling", "pooling", "_AvgPoolNd"),
        ("pooling", "pooling", "_AdaptiveAvgPoolNd"),
        ("pooling", "pooling", "_AdaptiveMaxPoolNd"),
    ],
)
def test_families_have_every_layer_of_torch(family, module, base):
    """The common bases are private; what torch exports of them is in the public lists."""
    base = getattr(getattr(nn.modules, module), base, None)
    if base is None:
        pytest.skip("this torch has no such base")
    exported = [one for one in vars(nn).values() if isinstance(one, type) and issubclass(one, base)]
    assert (
        exported
        and {one for one in exported if not issubclass(one, list_layer_classes(family))} == set()
    )
