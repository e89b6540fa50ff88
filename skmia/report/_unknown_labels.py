"""Records of classes that the model does not know, which are left out of an audit."""

from typing import NamedTuple

import numpy as np

from .._core.escaping import visible

# A larger share of a side is left out only if chance explains it.
LARGEST_SHARE = 0.1
# Standard deviations by which a number may lie above what is expected by chance.
_N_DEVIATIONS = 3.0


class UnknownLabels(NamedTuple):
    """How many records were left out because of their labels."""

    kept: np.ndarray  # (n_kept,): places of the others in the table of the user
    fitted: np.ndarray  # (n_fitted,): places of members of classes that no non-member has
    n_members: int  # whose label the model does not know
    n_nonmembers: int
    sizes: tuple  # members and non-members of the table
    examples: tuple  # the first unknown label of each side, and where it is

    def describe(self):
        """Return notes on what was left out."""
        told = []
        if self.n_members:
            told.append(
                f"{self._count(0)} A model knows the labels of its training records: look whether "
                "it was trained on these."
            )
        if self.n_nonmembers:
            told.append(self._count(1))
        n = len(self.fitted)
        if n:
            told[-1] = (
                f"{told[-1][:-1]}, and so {'was' if n == 1 else 'were'} "
                f"{n:,} member{'' if n == 1 else 's'} of classes that no non-member has: the label "
                "alone would tell the sides apart."
            )
        return told

    def _count(self, side):
        n, what = (self.n_members, self.n_nonmembers)[side], ("members", "non-members")[side]
        return (
            f"{n:,} of {self.sizes[side]:,} {what} {'has' if n == 1 else 'have'} a label that the "
            f"model does not know ({self.examples[side]}) and {'was' if n == 1 else 'were'} left "
            "out."
        )

    def count(self):
        """Return the numbers for the document of an audit."""
        return {
            "unknown_members": self.n_members,
            "unknown_nonmembers": self.n_nonmembers,
            "unmatched_members": len(self.fitted),
        }


def explain_refusal(known, y, membership):
    """Return why records of unknown labels are too many to be left out, or None."""
    for side, name in ((membership, "members"), (~membership, "non-members")):
        n, size = int((~known & side).sum()), int(side.sum())
        if n <= LARGEST_SHARE * size or (name == "non-members" and n <= _allow(y, membership)):
            continue
        if n == size:
            return f"All {'records' if not known.any() else name} have such a label."
        return (
            f"They are {n:,} of {size:,} {name}, and no more than a tenth of a side is left out"
            f"{'' if name == 'members' else ', unless chance explains it'}."
        )
    return None


def _allow(y, membership):
    """Return how many non-members of classes without a member there may be by chance.

    Each record is taken to be a non-member with the share that non-members have. A class of k
    records then has no member with probability share ** k.
    """
    _, sizes = np.unique(y, return_counts=True)
    absent = (1 - membership.mean()) ** sizes
    spread = np.sqrt((sizes**2 * absent * (1 - absent)).sum())
    return (sizes * absent).sum() + _N_DEVIATIONS * spread


def find_unknown_labels(outputs, y, membership):
    """Find the records whose labels a model does not know, or None if it knows all labels."""
    known = outputs.knows_labels(y)
    if known.all():
        return None
    why = explain_refusal(known, y, membership)
    if why is not None:
        _refuse_unknown_labels(outputs, y, why)
    # Classes without a member are unknown to the model. What is left out on one side is left out on
    # the other: classes that only members have would tell the sides apart by the label alone.
    is_lost = (~known & ~np.isin(y, y[membership])).any()
    unmatched = known & membership & ~np.isin(y, y[~membership])
    unmatched &= bool(is_lost)
    kept = known & ~unmatched
    if not (kept & membership).any() or not (kept & ~membership).any():
        _refuse_unknown_labels(
            outputs, y, "No class is left that both members and non-members have."
        )
    return UnknownLabels(
        kept=np.flatnonzero(kept),
        fitted=np.flatnonzero(unmatched),
        n_members=int((~known & membership).sum()),
        n_nonmembers=int((~known & ~membership).sum()),
        sizes=(int(membership.sum()), int((~membership).sum())),
        examples=tuple(_name_first(y, ~known & side) for side in (membership, ~membership)),
    )


def _refuse_unknown_labels(outputs, y, why):
    try:
        outputs.label_index(y)
    except ValueError as error:
        raise ValueError(
            f"{error} {why} Give the labels as they were in training, and non-members of "
            "its classes."
        ) from None


def _name_first(y, unknown):
    first = int(unknown.argmax())
    return f"first {visible(repr(y[first : first + 1].tolist()[0]))} at position {first}"
