"""Gradients and layers of fitted models.

``_open_white_box.py`` chooses by the model: ``_dense.py`` for scikit-learn, ``_torch.py`` for
nets, whose gradients for each record are computed in ``_torch_passes.py``. ``_heads.py`` turns what
a model gives into the loss of a record.
"""

from ._base import WhiteBox
from ._open_white_box import open_white_box

__all__ = ["WhiteBox", "open_white_box"]
