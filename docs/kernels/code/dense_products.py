"""What layers are made of besides sparse products: dense products, parts of matrices, the ReLU."""

from arrays import zeros
from forms import Array, as_dtype


def matmul(A, B):
    C = zeros(A.dtype, A.shape[0], B.shape[1])
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i][k] * B[k][j]  # in float64, in any order
            C[i][j] = as_dtype(A.dtype, total)
    return C


def transpose(A):
    T = zeros(A.dtype, A.shape[1], A.shape[0])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[j][i] = A[i][j]
    return T


def plus(A, B):
    """A, with B added to its first rows: as many as B has."""
    C = Array([list(row) for row in A], A.dtype, A.shape)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            C[i][j] = as_dtype(A.dtype, A[i][j] + B[i][j])
    return C


def first_rows(A, count):
    return Array(A[:count], A.dtype, [count, A.shape[1]])


def chosen_rows(A, rows):
    return Array([A[v] for v in rows], A.dtype, [len(rows), A.shape[1]])


def columns(A, first, last):
    return Array([row[first:last] for row in A], A.dtype, [A.shape[0], last - first])


def beside(A, B):
    C = zeros(A.dtype, A.shape[0], A.shape[1] + B.shape[1])
    for i in range(A.shape[0]):
        C[i] = A[i] + B[i]
    return C


def activate(Z, b, relu):
    """Z + b, or ReLU(Z + b); b may be null."""
    Y = zeros(Z.dtype, Z.shape[0], Z.shape[1])
    for i in range(Z.shape[0]):
        for j in range(Z.shape[1]):
            y = Z[i][j]
            if b is not None:
                y = as_dtype(Z.dtype, y + b[j])
            Y[i][j] = max(y, 0.0) if relu else y
    return Y


def masked(G_out, Y, relu):
    """The gradient before the ReLU: that of Y where Y is above 0, else 0."""
    G = zeros(G_out.dtype, G_out.shape[0], G_out.shape[1])
    for i in range(G_out.shape[0]):
        for j in range(G_out.shape[1]):
            if Y[i][j] > 0 or not relu:
                G[i][j] = G_out[i][j]
    return G


def column_sums(G):
    """The gradient of a bias."""
    sums = [0.0] * G.shape[1]
    for row in G:
        for j in range(G.shape[1]):
            sums[j] += row[j]
    return [as_dtype(G.dtype, total) for total in sums]


def dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


def outer(x, y, dtype):
    """The matrix of all products of a number of x and one of y."""
    return Array([[a * c for c in y] for a in x], dtype, [len(x), len(y)])


def weighted_rows(A, x):
    """The sum of the first rows of A, each times a number of x."""
    sums = [0.0] * A.shape[1]
    for i in range(len(x)):
        for j in range(A.shape[1]):
            sums[j] += x[i] * A[i][j]
    return sums
