"""Random changes of the batches of a training."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


class Augmentation:
    """Change each batch of a skorch net's training at random.

    Pass it as ``iterator_train__collate_fn`` of a skorch net. The numbers come from the generators
    that seed a net, so shadow models that are trained together draw the same as each of them by
    itself (on a GPU, other numbers with the same law). Batches of a validation set and of
    predictions are not changed.

    Parameters
    ----------
    *transforms : callable
        Functions of the rows of a batch and a torch Generator that return changed rows, for example
        :func:`random_crops` and :func:`random_flips`. They draw from the generator alone, on its
        device, and a row of the result belongs to the same row of the batch.

    See Also
    --------
    random_crops : Images moved by some pixels.
    random_flips : Mirror images.

    Examples
    --------
    >>> import torch
    >>> from functools import partial
    >>> from skorch import NeuralNetClassifier
    >>> from skmia.victims import Augmentation, random_crops, random_flips
    >>> def add_noise(X, generator):
    ...     noise = torch.randn(X.shape, generator=generator, device=generator.device)
    ...     return X + 0.1 * noise
    >>> augmentation = Augmentation(partial(random_crops, padding=2), random_flips, add_noise)
    >>> net = NeuralNetClassifier(torch.nn.Flatten, iterator_train__collate_fn=augmentation)
    >>> images = torch.ones(5, 3, 8, 8)
    >>> augmentation.transform(images, torch.Generator().manual_seed(0)).shape
    torch.Size([5, 3, 8, 8])
    """

    def __init__(self, *transforms: Callable[..., Any]) -> None:
        wrong = [transform for transform in transforms if not callable(transform)]
        if wrong or not transforms:
            got = type(wrong[0]).__name__ if wrong else "none"
            raise TypeError(f"transforms must be one or more functions; got {got}.")
        self.transforms = transforms

    def __call__(self, samples: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Make a batch of samples and change its rows.

        Parameters
        ----------
        samples : list of (array-like, array-like)
            Rows and targets of the batch.

        Returns
        -------
        X, y : Tensor of shape (n, ...)
            The changed rows, and the targets.
        """
        import torch
        from torch.utils.data import default_collate

        X, y = default_collate(samples)
        return [self.transform(X, torch.default_generator), y]

    def transform(self, X: "torch.Tensor", generator: "torch.Generator") -> "torch.Tensor":
        """Change the rows of a batch.

        Parameters
        ----------
        X : Tensor of shape (n, ...)
            Rows of a batch.
        generator : torch Generator
            Source of the numbers, on the device of the rows.

        Returns
        -------
        X : Tensor of shape (n, ...)
            Changed rows.
        """
        for transform in self.transforms:
            X = transform(X, generator)
        return X


def random_crops(
    X: "torch.Tensor", generator: "torch.Generator", padding: int = 4
) -> "torch.Tensor":
    """Move each image by up to some pixels in both directions, and fill with zeros.

    The same as to pad an image with zeros and to crop it at random.

    Parameters
    ----------
    X : Tensor of shape (n, ..., height, width)
        Images.
    generator : torch Generator
        Source of the numbers, on the device of the images.
    padding : int, default=4
        Largest distance.

    Returns
    -------
    X : Tensor of shape (n, ..., height, width)
        Images of the same size.

    See Also
    --------
    Augmentation : Changes the batches of a training.

    Examples
    --------
    >>> import torch
    >>> from skmia.victims import random_crops
    >>> images = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> random_crops(images, torch.Generator().manual_seed(4), padding=1)
    tensor([[[0., 1.],
             [0., 3.]]])
    """
    import torch
    from torch.nn.functional import pad

    n, (height, width) = len(X), X.shape[-2:]
    device = generator.device
    moves = torch.randint(2 * padding + 1, (2, n), generator=generator, device=device)
    padded = pad(X, [padding] * 4).reshape(n, -1, height + 2 * padding, width + 2 * padding)
    rows = moves[0, :, None] + torch.arange(height, device=device)
    columns = moves[1, :, None] + torch.arange(width, device=device)
    first = torch.arange(n, device=device)[:, None, None, None]
    second = torch.arange(padded.shape[1], device=device)[:, None, None]
    return padded[first, second, rows[:, None, :, None], columns[:, None, None]].reshape(X.shape)


def random_flips(X: "torch.Tensor", generator: "torch.Generator", p: float = 0.5) -> "torch.Tensor":
    """Flip each image with some probability, left to right.

    Parameters
    ----------
    X : Tensor of shape (n, ..., width)
        Images.
    generator : torch Generator
        Source of the numbers, on the device of the images.
    p : float, default=0.5
        Probability that an image is flipped.

    Returns
    -------
    X : Tensor of shape (n, ..., width)
        Images of the same size.

    See Also
    --------
    Augmentation : Changes the batches of a training.

    Examples
    --------
    >>> import torch
    >>> from skmia.victims import random_flips
    >>> random_flips(torch.arange(4.0).reshape(1, 2, 2), torch.Generator(), p=1.0)
    tensor([[[1., 0.],
             [3., 2.]]])
    """
    import torch

    flipped = torch.rand(len(X), generator=generator, device=generator.device) < p
    return torch.where(flipped.view(-1, *[1] * (X.ndim - 1)), X.flip(-1), X)
