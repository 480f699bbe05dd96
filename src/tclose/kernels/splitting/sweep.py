"""What every cut of a node along a column would lose, found in one sweep over its cells.

The boxes of all prefixes and suffixes along the column come from the codes that occur at each rank
of it: a bit per code of every other column, as many columns to a word as fit, united rank by rank.
A column of too many codes takes the first and the last rank at which each of them occurs instead.
A node of N cells costs O(N · columns²) at most, whatever the sizes of the domains.
"""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tclose.kernels.base.memory import clear
from cython.cimports.tclose.kernels.splitting.node import NO_RANK, WORD_BITS, loss_between


def set_bits(node):
    """Words with a bit for every code of the node's cells."""
    n_cells = node.n_cells
    used: int64_t = WORD_BITS
    node.n_words = 0
    bits = node.bits
    for j in range(node.n_columns):
        n_ranks = node.n_ranks[j]
        node.word_of[j] = -1
        if n_ranks <= 1 or n_ranks > WORD_BITS:
            continue
        if used + n_ranks > WORD_BITS:
            bits = node.bits + node.n_words * node.cell_stride
            clear(bits, n_cells)
            node.n_words += 1
            used = 0
        rank = node.rank + j * node.cell_stride
        for p in range(n_cells):
            bits[p] |= cython.cast(int64_t, 1) << (rank[p] + used)
        node.word_of[j], node.first_bit[j] = node.n_words - 1, used
        for bit in range(used, used + n_ranks):
            node.bit_column[(node.n_words - 1) * WORD_BITS + bit] = j
        used += n_ranks


def weigh_cuts(node, j):
    """The loss of the prefix that ends and of the suffix that begins at every rank of column j, and
    the rows at each rank; `set_bits` comes before.

    False where no cut leaves k rows on both sides; what only such cuts need is left undone.
    """
    n_ranks = node.n_ranks[j]
    rank, rank_rows, cell_rows = node.rank + j * node.cell_stride, node.rank_rows, node.cell_rows
    clear(rank_rows, n_ranks)
    for p in range(node.n_cells):
        rank_rows[rank[p]] += cell_rows[p]
    first, last = allowed_ranks(rank_rows, n_ranks, node.constraints.k)
    if first > last:
        return False
    for at in range(last + 1):
        node.left_loss[at] = 0.0
    for at in range(first + 1, n_ranks):
        node.right_loss[at] = 0.0
    n_right = n_ranks - 1 - first
    for i in range(node.n_columns):
        if node.word_of[i] < 0 and node.n_ranks[i] > 1:
            find_ends(node, j, i)
            sweep_column(node, j, i, node.first_rank, 0, last + 1, 1, node.left_loss)
            sweep_column(node, j, i, node.last_rank, n_ranks - 1, n_right, -1, node.right_loss)
    for word in range(node.n_words):
        unite_bits(
            rank, node.bits + word * node.cell_stride, node.n_cells,
            node.rank_bits + word * node.code_stride, n_ranks,
        )  # fmt: skip
    if node.n_words > 0:
        sweep_bits(node, 0, last + 1, 1, node.left_loss)
        sweep_bits(node, n_ranks - 1, n_right, -1, node.right_loss)
    return True


def allowed_ranks(rank_rows, n_ranks, k):
    """The first and the last rank after which a cut leaves k rows on both sides."""
    first: cython.Py_ssize_t = 0
    rows: int64_t = 0
    while first < n_ranks and rows + rank_rows[first] < k:
        rows += rank_rows[first]
        first += 1
    last = n_ranks - 2
    rows = rank_rows[n_ranks - 1]
    while last >= 0 and rows < k:
        rows += rank_rows[last]
        last -= 1
    return first, last


def unite_bits(rank, bits, n_cells, rank_bits, n_ranks):
    """The bits of all cells at each rank."""
    clear(rank_bits, n_ranks)
    for p in range(n_cells):
        rank_bits[rank[p]] |= bits[p]


def sweep_bits(node, start, count, step, losses):
    """Adds the loss of every prefix (or suffix) along a column in the columns that have words.

    Rank by rank, only the columns in which a code is new are weighed again.
    """
    spans, n_columns, n_words = node.spans, node.n_columns, node.n_words
    clear(node.seen_bits, n_words)
    for i in range(n_columns):
        spans[i].low, spans[i].high, spans[i].n_ranks, spans[i].loss = NO_RANK, -1, 0, 0.0
    total: cython.double = 0.0
    at = start
    for _ in range(count):
        has_changed: cython.bint = False
        for word in range(n_words):
            fresh = node.rank_bits[word * node.code_stride + at] & ~node.seen_bits[word]
            if fresh == 0:
                continue
            has_changed = True
            node.seen_bits[word] |= fresh
            i = -1
            end: int64_t = -1
            while fresh != 0:
                bit = lowest_bit(fresh)
                fresh &= fresh - 1
                if bit >= end:
                    if i >= 0:
                        spans[i].loss = loss_between(
                            node, i, spans[i].low, spans[i].high, spans[i].n_ranks
                        )
                    i = node.bit_column[word * WORD_BITS + bit]
                    end = node.first_bit[i] + node.n_ranks[i]
                other = bit - node.first_bit[i]
                spans[i].low = min(spans[i].low, other)
                spans[i].high = max(spans[i].high, other)
                spans[i].n_ranks += 1
            spans[i].loss = loss_between(node, i, spans[i].low, spans[i].high, spans[i].n_ranks)
        if has_changed:
            total = 0.0
            for i in range(n_columns):
                total += spans[i].loss
        losses[at] += total
        at += step


def find_ends(node, j, i):
    """The first and the last rank of column j at which each code of column i occurs."""
    first, last = node.first_rank, node.last_rank
    rank, other = node.rank + j * node.cell_stride, node.rank + i * node.cell_stride
    for u in range(node.n_ranks[i]):
        first[u], last[u] = NO_RANK, -1
    for p in range(node.n_cells):
        u = other[p]
        first[u] = min(first[u], rank[p])
        last[u] = max(last[u], rank[p])


def sweep_column(node, j, i, occurs, start, count, step, losses):
    """Adds the loss of every prefix (or suffix) along column j in column i, whose codes are first
    met at the ranks `occurs`."""
    spans = node.rank_spans
    for at in range(node.n_ranks[j]):
        spans[at].low, spans[at].high, spans[at].n_ranks = NO_RANK, -1, 0
    for u in range(node.n_ranks[i]):
        span = cython.address(spans[occurs[u]])
        span.low = min(span.low, u)
        span.high = max(span.high, u)
        span.n_ranks += 1
    low: int64_t = NO_RANK
    high: int64_t = -1
    n_ranks: int64_t = 0
    loss: cython.double = 0.0
    at = start
    for _ in range(count):
        if spans[at].n_ranks > 0:
            low, high = min(low, spans[at].low), max(high, spans[at].high)
            n_ranks += spans[at].n_ranks
            loss = loss_between(node, i, low, high, n_ranks)
        losses[at] += loss
        at += step


def order_along(node, j):
    """Positions by rank of column j into `order`; `rank_end[v]` is the end of rank v."""
    rank, end, n_ranks = node.rank + j * node.cell_stride, node.rank_end, node.n_ranks[j]
    clear(end, n_ranks + 1)
    for p in range(node.n_cells):
        end[rank[p] + 1] += 1
    for v in range(n_ranks):
        end[v + 1] += end[v]
    for p in range(node.n_cells):
        node.order[end[rank[p]]] = cython.cast(int32_t, p)
        end[rank[p]] += 1
