"""Noise for vectors whose components are bounded one by one."""

import numpy as np


class Alternatives:
    """Which components of a vector exclude each other.

    Components are in members, and members in groups: of each group, the components of a single
    member differ from 0 at a time. What one row changes is such a vector: of the weights of a block
    of values, it moves only those of its own value.

    Parameters
    ----------
    member : ndarray of shape (n,), dtype int
        Member of each component, from 0.
    group : ndarray of shape (n_members,), dtype int
        Group of each member, from 0.
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
        """Largest sum of components, none negative, that can differ from 0 together."""
        largest = np.zeros(self.group.max() + 1)
        np.maximum.at(largest, self.group, self.sum_members(values))
        return largest.sum()

    def sum_members(self, values):
        """Sum of the components of each member."""
        return np.bincount(self.member, values, len(self.group))


def unit_scales(widths, shape, alternatives=None):
    """Standard deviations that make a Gaussian mechanism with the noise multiplier 1.

    A vector whose components are at most ``widths`` in absolute value, each divided by its standard
    deviation, then has a norm of at most 1.

    Parameters
    ----------
    widths : ndarray of shape (n,)
        Not negative. A component of the width 0 is 0 for every row and gets no noise.
    shape : {"spherical", "proportional", "minimum_trace"}
        The same for all; in proportion to the widths; the smallest sum of variances.
    alternatives : Alternatives, default=None
        Which components exclude each other. If None, none do.

    Returns
    -------
    scales : ndarray of shape (n,)
    """
    if alternatives is None:
        alternatives = Alternatives(np.zeros(len(widths), int), np.zeros(1, int))
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

    Multipliers z of the two, released together, make one of ``(z1**-2 + z2**-2)**-0.5``. Of all
    that make 1, those with the smallest sum of variances are taken.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Standard deviations of either, each with the noise multiplier 1 for itself.

    Returns
    -------
    scales : ndarray of shape (n,)
        Standard deviations of the noise on the sum of the two vectors.
    """
    sizes = np.array([np.linalg.norm(first), np.linalg.norm(second)])
    squares = np.divide(sizes.sum(), sizes, out=np.ones(2), where=sizes > 0)
    return np.sqrt(squares[0] * first**2 + squares[1] * second**2)
