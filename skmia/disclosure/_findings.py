"""What the checks have found so far."""

from dataclasses import dataclass, field


@dataclass
class Findings:
    """Checks, columns of the table of members, and notes, in the order in which they are found.

    Attributes
    ----------
    checks : list of StructuralCheck
    columns : dict of str to ndarray
    notes : list of str
    """

    checks: list = field(default_factory=list)
    columns: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    def add_groups(self, checks, sizes, ending):
        """Add checks of groups, and the counts of the group of each member."""
        self.checks.extend(checks)
        self.columns[f"k_{ending}"] = sizes.sizes
        self.columns[f"n_classes_{ending}"] = sizes.n_classes
        self.columns[f"smallest_cell_{ending}"] = sizes.smallest_cells
