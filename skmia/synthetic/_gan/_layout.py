"""How columns of a table are laid out as inputs of a critic and outputs of a generator."""

import numpy as np

from ..._core.optional import import_optional

_torch = "torch", "torch"
# Of the softmax whose slope stands for the slope of a drawn value.
_TEMPERATURE = 0.5


class Layout:
    """Columns side by side: a number takes one place, a column of m values a block of m.

    Rows are kept with one entry a column, a number in [0, 1] or the place of a value. A critic gets
    them expanded: in the block of a column, the place of its value is 1 and all others are 0.

    Parameters
    ----------
    sizes : sequence of int
        Number of places of each column; 1 is a number.
    """

    def __init__(self, sizes):
        self.sizes = tuple(int(size) for size in sizes)
        self.n_places = sum(self.sizes)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(int)
        self.is_number = np.array(self.sizes) == 1

    def split(self, places):
        """The blocks of a tensor of shape (n, n_places)."""
        return places.split(self.sizes, dim=1)

    def expand(self, rows):
        """Inputs of a critic, of shape (n, n_places)."""
        if self.is_number.all():
            return rows
        torch = import_optional(*_torch)
        eye = torch.nn.functional.one_hot
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
        torch = import_optional(*_torch)
        if self.is_number.all():
            return torch.sigmoid(outputs)
        noisy = outputs - torch.log(-torch.log(torch.rand_like(outputs)))
        parts = []
        for size, output, noised in zip(
            self.sizes, self.split(outputs), self.split(noisy), strict=True
        ):
            if size == 1:
                parts.append(torch.sigmoid(output))
                continue
            part = torch.nn.functional.one_hot(noised.argmax(dim=1), size).to(noised.dtype)
            if noised.requires_grad:
                soft = torch.softmax(noised / _TEMPERATURE, dim=1)
                part = part + (soft - soft.detach())  # the difference is exactly 0
            parts.append(part)
        return torch.cat(parts, dim=1)

    def draw_rows(self, outputs, rng):
        """Rows with one entry a column, drawn from outputs of a generator.

        Parameters
        ----------
        outputs : ndarray of shape (n, n_places)
        rng : RandomState instance or Generator

        Returns
        -------
        rows : ndarray of shape (n, n_columns)
        """
        columns = []
        for size, start in zip(self.sizes, self.starts, strict=True):
            output = outputs[:, start : start + size]
            if size == 1:
                columns.append(0.5 * (1 + np.tanh(output[:, 0] / 2)))  # a sigmoid
            else:
                columns.append((output + rng.gumbel(size=output.shape)).argmax(axis=1))
        return np.stack(columns, axis=1).astype(np.float64)
