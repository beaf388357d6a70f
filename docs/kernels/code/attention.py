"""The weights of graph attention, head by head, and how gradients go through them."""

import math

from arrays import entries, entry_count, row_count
from streams import uniform


def leaky(x, slope):
    return x if x > 0 else slope * x


def leaky_slope(x, slope):
    """Its derivative; at 0 that from below."""
    return 1.0 if x > 0 else slope


def scores(graph, sigma, tau, form, slope):
    """A score for each entry (u, v), from what u and v contribute."""
    beta = [0.0] * entry_count(graph)  # stays 0 where an entry is in no row
    for u in range(row_count(graph)):
        for j in entries(graph, u):
            v = graph.indices[j]
            if form == "joint":
                beta[j] = leaky(sigma[u] + tau[v], slope)
            else:
                beta[j] = leaky(sigma[u], slope) + leaky(tau[v], slope)
    return beta


def attention(graph, data, beta, norm):
    P = [0.0] * entry_count(graph)
    for u in range(row_count(graph)):
        highest = max([beta[j] for j in entries(graph, u)], default=0.0)
        total = 0.0
        for j in entries(graph, u):
            if norm == "softmax":
                P[j] = math.exp(beta[j] - highest)  # exp cannot overflow
                total += P[j]
            elif norm == "row":
                P[j] = beta[j] * data[j]
            else:
                P[j] = beta[j]
        if norm == "softmax":
            for j in entries(graph, u):
                P[j] = P[j] / total
    return P


def dropped(graph, values, k, heads, dropout, keys):
    """What dropout leaves of the weights of head k, or of their gradient."""
    left = [0.0] * entry_count(graph)
    for u in range(row_count(graph)):
        for i, j in enumerate(entries(graph, u)):
            if dropout == 0 or uniform(keys[u], i * heads + k) >= dropout:
                left[j] = values[j] / (1 - dropout)
    return left


def scores_gradient(graph, data, P, dP, norm):
    dbeta = [0.0] * entry_count(graph)
    for u in range(row_count(graph)):
        mean = 0.0
        for j in entries(graph, u):
            mean += P[j] * dP[j]
        for j in entries(graph, u):
            if norm == "softmax":
                dbeta[j] = P[j] * (dP[j] - mean)
            elif norm == "row":
                dbeta[j] = dP[j] * data[j]
            else:
                dbeta[j] = dP[j]
    return dbeta


def score_gradients(graph, sigma, tau, dbeta, form, slope):
    """Those of sigma and tau: sums over the entries of a row, and of a column."""
    dsigma, dtau = [0.0] * len(sigma), [0.0] * len(tau)
    for u in range(row_count(graph)):
        for j in entries(graph, u):
            v = graph.indices[j]
            passed = dbeta[j]
            if form == "joint":
                passed *= leaky_slope(sigma[u] + tau[v], slope)  # GAT.6, GAT.7
            dsigma[u] += passed  # GAT.8, GAT.10
            dtau[v] += passed  # GAT.9, GAT.12
    if form == "split":
        for u in range(len(sigma)):
            dsigma[u] *= leaky_slope(sigma[u], slope)  # GAT.11
        for v in range(len(tau)):
            dtau[v] *= leaky_slope(tau[v], slope)  # GAT.13
    return dsigma, dtau
