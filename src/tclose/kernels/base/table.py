"""The table as the searches read it: codes, losses, rows and weights of cells, constraints.

What a class loses in a column is a matter of its lowest and highest code, or of how many values it
has (`utility.loss`). `range_loss` says it in constant time: positions for intervals, a table for
small hierarchies, a climb for large ones, so that no column is too large to search over.
"""

import cython


class CodedTable:
    """What a kernel reads of a problem; `arrays` owns the memory (`search.kernel_arrays`)."""

    def __init__(self, arrays, constraints) -> None:
        self.arrays, self.constraints = arrays, constraints
        self.n_cells, self.n_columns = arrays.codes.shape
        self.n_fields = arrays.slots.shape[1]
        self.n_weights = len(arrays.weights)
        self.weight_stride = self.n_cells if self.n_weights > 1 else 0
        self.n_orders = len(arrays.order_rank)
        climbs = int((arrays.columns["form"] == TREE_CLIMB).sum())
        self.steps_per_cell = self.n_columns + self.n_fields + 1 + 4 * climbs
        self.n_codes = int(arrays.columns["n_codes"].sum())
        self.widest_column = int(arrays.columns["n_codes"].max(initial=0))
        self.codes = ints(arrays.codes)
        self.columns = cython.cast(cython.pointer(Column), longs(arrays.columns.view("i8")))
        self.losses = doubles(arrays.losses)
        self.tree_leaf, self.tree_parent = longs(arrays.tree_leaf), longs(arrays.tree_parent)
        self.tree_last_code = longs(arrays.tree_last_code)
        self.rows, self.weights = longs(arrays.rows), longs(arrays.weights)
        self.slots = longs(arrays.slots)
        self.order_rank, self.order_tie = longs(arrays.order_rank), longs(arrays.order_tie)
        self.order_fragment = longs(arrays.order_fragment)
