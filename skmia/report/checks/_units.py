"""Units of a permutation: the records, or groups of them, that exchange their membership."""

from typing import Any, NamedTuple

import numpy as np

from ..._core.groups import number_groups
from ..._core.moments import cut
from ..._core.numbers import are_consecutive
from ..._core.out_of_core import count_up, empty_table, find_where, sort_places, take_table

_BLOCK_ELEMENTS = 1 << 20

# Number of permutations of bundles that are drawn at a time.
_N_TOGETHER = 10

# More units than these are permuted in bundles, and the number of the bundles.
MOST_UNITS = 200_000
_N_BUNDLES = 100_000


class UnitLabelings(NamedTuple):
    """The true labeling and permutations of it."""

    columns: np.ndarray  # (n,): column of each record in the bits of a labeling
    # (n,): records that are members where their bit is 0, and not where it is 1; None for none.
    turned: np.ndarray | None
    n_columns: int
    blocks: Any  # (n_labelings, n_columns): bits, the true labeling first

    def take(self, rows):
        """Return the columns of some records, and which of them are turned (None for none)."""
        return self.columns[rows], None if self.turned is None else self.turned[rows]


def draw_labelings(units, n_permutations, rng):
    # Very many units are paired within their blocks and exchanged in bundles of pairs, for which
    # permutation_test gives the reasons.
    n_units = len(units.is_member)
    if n_units <= MOST_UNITS:
        return UnitLabelings(
            units.places, None, n_units, _iter_labelings(units, n_permutations, rng)
        )
    bundles = _bundle_pairs(units, rng)
    blocks = _draw_exchanges(n_permutations, rng)
    columns = take_table(bundles, units.places)
    return UnitLabelings(columns, units.is_member[units.places], _N_BUNDLES + 1, blocks)


def _iter_labelings(units, n_permutations, rng):
    """Yield the true labels, and then permutations of them in blocks."""
    yield units.is_member[None]
    n_units = len(units.is_member)
    n_whole = int((units.blocks == 0).sum())
    # As an array, because numpy takes a third of the time of a draw to make one of a number.
    n_members = np.asarray(units.is_member[:n_whole].sum())
    # Within a block, members come first; the draw puts its records in random order.
    mixed = units.blocks[n_whole:]
    pattern = units.is_member[n_whole:][np.lexsort([~units.is_member[n_whole:], mixed])]
    step = max(1, _BLOCK_ELEMENTS // n_units)
    for start in range(0, n_permutations, step):
        labels = np.zeros((min(step, n_permutations - start), n_units), dtype=bool)
        for row in labels:
            row[rng.choice(n_whole, n_members, replace=False, shuffle=False)] = 1
            if len(mixed):
                row[n_whole + np.argsort(mixed + rng.random(len(mixed)))] = pattern
        yield labels


def _bundle_pairs(units, rng):
    """Bundle of each unit; the last number for units that have no partner."""
    bundles = empty_table(len(units.is_member), np.int32)
    bundles[:] = _N_BUNDLES
    if not units.n_mixed:
        sides = [find_where(side) for side in (units.is_member, ~units.is_member)]
        n_pairs = min(map(len, sides))
        for side in sides:
            rng.shuffle(side)
            for rows in cut(n_pairs):
                bundles[side[rows]] = np.arange(rows.start, rows.stop) % _N_BUNDLES
        return bundles
    n_blocks = int(units.blocks.max()) + 1
    side = 2 * units.blocks + units.is_member
    counts = np.bincount(side, minlength=2 * n_blocks)
    order = np.lexsort([rng.random(len(side)), side])
    place = np.arange(len(side)) - np.repeat(np.cumsum(counts) - counts, counts)
    n_pairs = counts.reshape(-1, 2).min(axis=1)
    block = units.blocks[order]
    pair = (np.cumsum(n_pairs) - n_pairs)[block] + place
    bundles[order] = np.where(place < n_pairs[block], pair % _N_BUNDLES, _N_BUNDLES)
    return bundles


def _draw_exchanges(n_permutations, rng):
    """Yield bits that say which bundles are exchanged: none, and then random ones."""
    yield np.zeros((1, _N_BUNDLES + 1), dtype=bool)
    for start in range(0, n_permutations, _N_TOGETHER):
        bits = np.zeros((min(_N_TOGETHER, n_permutations - start), _N_BUNDLES + 1), dtype=bool)
        bits[:, :-1] = rng.integers(2, size=(len(bits), _N_BUNDLES), dtype=np.int8)
        yield bits


# Equal records count as copies if they are on one side by so much more than by chance.
_COPIED = 0.1
_N_PERMUTATIONS = 199


class MembershipUnits(NamedTuple):
    """Records, or groups of them, that have one membership and change it together."""

    places: np.ndarray  # (n,): unit of each record
    is_member: np.ndarray  # (n_units,): whether each unit is a member
    # (n_units,): block of each unit; units exchange their membership within a block. Block 0 comes
    # first.
    blocks: np.ndarray
    # Number of groups with both members and non-members. Each is a block whose units are its
    # records.
    n_mixed: int


def make_units(membership, group_by=None):
    """Make the units of a permutation: whole groups, and the records of mixed groups.

    If membership was assigned to groups at random, groups of members exchange it with groups of
    non-members. A group with both members and non-members keeps its number of members, and the
    records that are members are drawn again. Each of the two permutations is valid, and so are both
    together.
    """
    n_records = len(membership)
    if group_by is None:
        return MembershipUnits(
            count_up(n_records), membership, np.broadcast_to(np.intp(0), n_records), 0
        )
    _, groups = number_groups(group_by, n_records)
    is_mixed = are_mixed(groups, membership)
    places = np.where(is_mixed[groups], groups.max() + 1 + np.arange(n_records), groups)
    _, first, places = np.unique(places, return_index=True, return_inverse=True)
    blocks = np.where(is_mixed, np.cumsum(is_mixed), 0)[groups[first]]
    return MembershipUnits(places, membership[first], blocks, int(is_mixed.sum()))


def are_mixed(groups, membership):
    """Return which of the groups, numbered from 0, hold both members and non-members."""
    n_members = np.bincount(groups, membership)
    return (n_members > 0) & (n_members < np.bincount(groups))


def name_mixed(membership, group_by):
    names, groups = number_groups(group_by, len(membership))
    return [str(name) for name in names[are_mixed(groups, membership)]], len(names)


def pack_masks(masks, units):
    """Pack masks into few numbers, so that sums over units sort like those of mask after mask."""
    sizes = [1] if _are_records(units) else [np.bincount(units.places).max()]
    base = 1 + int(max([*sizes, *(np.bincount(units.blocks)[1:] if units.n_mixed else [])]))
    n_digits = int(53 // np.log2(base))
    packed = []
    for start in range(0, len(masks), n_digits):
        number, some = empty_table(len(units.places)), masks[start : start + n_digits]
        for rows in cut(len(number)):
            number[rows] = sum(float(base**power) * mask[rows] for power, mask in enumerate(some))
        packed.append(number)
    return packed


def _are_records(units):
    """Return whether each record is a unit, in their order."""
    return len(units.places) == len(units.is_member) and are_consecutive(units.places)


def order_units(units, keys):
    """Sort the units so that their order does not depend on the order of the records.

    The permutations of one seed are then the same for any order of the records.
    """
    are_records = _are_records(units)
    sums = list(keys) if are_records else [np.bincount(units.places, key) for key in keys]
    in_block = []
    if units.n_mixed:
        outside = units.blocks == 0
        for key in sums:
            in_block.append(np.bincount(units.blocks, key)[units.blocks])
            in_block[-1][outside] = 0
    places = sort_places([*sums, *in_block, *([units.blocks > 0] if units.n_mixed else [])])
    is_member, blocks = np.empty_like(units.is_member), units.blocks
    is_member[places] = units.is_member
    if units.n_mixed:  # else all blocks are 0
        blocks = np.empty_like(units.blocks)
        blocks[places] = units.blocks
    places = places if are_records else places[units.places]
    return MembershipUnits(places, is_member, blocks, units.n_mixed)


def pick_draws(fingerprint, membership, people=None, seed=0):
    """Pick the records that were assigned to a side by themselves, without copies of others.

    On a coarse table, equal records lie on both sides as by chance, and each was assigned by
    itself. If equal records are on one side more often, they were copied after they had been
    assigned, and the first one of each side stands for all. To drop equal records of a coarse table
    would leave more of the frequent ones on the smaller side.
    """
    n_records = len(membership)
    rows = np.unique(fingerprint, return_inverse=True)[1]
    persons = np.arange(n_records) if people is None else number_groups(people, n_records)[1]
    pairs = _EqualPairs(rows, persons)
    if not pairs.every:
        return np.arange(n_records)
    excess = pairs.measure(membership)
    if not (excess > _COPIED).any():
        return np.arange(n_records)
    most = _find_most(pairs, make_units(membership, people), seed)
    if not ((excess > _COPIED) & (excess > most)).any():
        return np.arange(n_records)
    return np.sort(np.unique(2 * rows + membership, return_index=True)[1])


class _EqualPairs:
    """Pairs of equal records of different people."""

    def __init__(self, rows, persons):
        self._keys = [rows, np.unique(rows * (persons.max() + 1) + persons, return_inverse=True)[1]]
        self.every = self._sum(np.ones(len(rows)))

    def measure(self, membership):
        """Return the excess of pairs on one side, and correlation of membership in a pair.

        1 at most.

        The first one sees copies on the larger side, the second one copies on the smaller side.
        """
        share = membership.mean()
        chance = share**2 + (1 - share) ** 2
        same = self._sum(membership) + self._sum(~membership)
        together = self._sum(membership - share)
        return np.array(
            [
                (same / self.every - chance) / (1 - chance),
                together / self.every / (share * (1 - share)),
            ]
        )

    def _sum(self, values):
        """Return the sum of the products of the values over all pairs."""
        equal, of_people = (np.bincount(key, values) for key in self._keys)
        return ((equal**2).sum() - (of_people**2).sum()) / 2


def _find_most(pairs, units, seed):
    """Return largest numbers of :meth:`_EqualPairs.measure` under permutations of membership."""
    labelings = draw_labelings(units, _N_PERMUTATIONS, np.random.default_rng(seed))
    next(labelings.blocks)
    most = np.full(2, -np.inf)
    for labels in labelings.blocks:
        for label in labels:
            membership = label[labelings.columns]
            if labelings.turned is not None:
                membership = membership != labelings.turned
            most = np.maximum(most, pairs.measure(membership))
    return most
