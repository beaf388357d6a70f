"""Words for arrays and for the patterns of sparse matrices, from the stage of matrices on."""

from forms import Array, Named, is_array, is_graph, is_named, node_count

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def zeros(dtype, n, m):
    return Array([[0.0] * m for _ in range(n)], dtype, [n, m])


def named(type_name, **fields):
    return Named(type_name, fields)


def row_count(pattern):
    return node_count(pattern) if is_graph(pattern) else len(pattern.start)


def column_count(pattern):
    return node_count(pattern) if is_graph(pattern) else pattern.n_src


def entries(pattern, v):
    """Where the entries of row v stand in `indices`; a block may have others between."""
    if is_graph(pattern):
        return range(pattern.indptr[v], pattern.indptr[v + 1])
    return range(pattern.start[v], pattern.end[v])


def entry_count(pattern):
    return len(pattern.indices)


def is_pattern(value):
    return is_graph(value) or is_named(value, "Block")


def is_floats(value):
    return is_array(value) and value.dtype in FLOATS


def is_like(value, other):
    return is_floats(value) and value.dtype == other.dtype


def is_integers(value):
    """An array without numbers may be of any dtype."""
    return is_array(value) and (0 in value.shape or value.dtype in INTEGERS)


def is_mask(value):
    return is_array(value) and value.dtype == "bool"


def has_shape(value, *lengths):
    """Whether an array has these lengths, one for each dimension; None is any."""
    if len(value.shape) != len(lengths):
        return False
    for i in range(len(lengths)):
        if lengths[i] is not None and lengths[i] != value.shape[i]:
            return False
    return True


def all_within(values, low, high):
    """Whether an array has one dimension, and its numbers are in [low, high)."""
    return len(values.shape) == 1 and all(low <= x < high for x in values)


def are_distinct(values):
    return len(set(values)) == len(values)


def is_switch(value):
    return type(value) is bool
