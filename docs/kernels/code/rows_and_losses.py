"""What a training step does besides the layers: dropout, rows of length 1, losses, Adam."""

import math

from arrays import has_shape, is_floats, is_like, zeros
from forms import as_dtype, is_array, is_integer, is_named, is_real, is_word
from streams import uniform


def dropout(X, rate, key):
    n, f = X.shape
    scale = as_dtype(X.dtype, 1 / (1 - rate))
    Y = zeros(X.dtype, n, f)
    for i in range(n):
        for c in range(f):
            draw = uniform(key[i], c) if is_array(key) else uniform(key, i * f + c)
            if draw >= rate:
                Y[i][c] = as_dtype(X.dtype, X[i][c] * scale)
    return Y


def row_l2_forward(X, eps):
    n, f = X.shape
    Y = zeros(X.dtype, n, f)
    norms = []
    for i in range(n):
        squares = 0.0
        for c in range(f):
            squares += X[i][c] * X[i][c]
        norms.append(max(as_dtype(X.dtype, math.sqrt(squares)), as_dtype(X.dtype, eps)))
        for c in range(f):
            Y[i][c] = as_dtype(X.dtype, X[i][c] / norms[i])
    return {"Y": Y, "norms": norms}


def row_l2_backward(out, G, eps):
    Y, norms = out.Y, out.norms
    n, f = Y.shape
    dX = zeros(Y.dtype, n, f)
    for i in range(n):
        along = 0.0  # a row at the floor is divided by a constant
        if norms[i] > as_dtype(Y.dtype, eps):
            for c in range(f):
                along += Y[i][c] * G[i][c]
        for c in range(f):
            dX[i][c] = as_dtype(Y.dtype, (G[i][c] - Y[i][c] * along) / norms[i])
    return dX


def softmax_cross_entropy(logits, labels, weights):
    s, C = logits.shape
    loss = 0.0
    gradient = zeros(logits.dtype, s, C)
    for v in range(s):
        x, y = logits[v], labels[v]
        w = 1 / s if weights is None else weights[v]
        highest = max(x)
        total = 0.0
        mass = 0.0
        for c in range(C):
            total += math.exp(x[c] - highest)  # exp cannot overflow
            mass += y[c]
        for c in range(C):
            loss += w * y[c] * (math.log(total) - (x[c] - highest))
            p = math.exp(x[c] - highest) / total
            gradient[v][c] = as_dtype(logits.dtype, w * (mass * p - y[c]))
    return {"value": loss, "gradient": gradient}


def sigmoid_cross_entropy(logits, labels, weights):
    s, C = logits.shape
    loss = 0.0
    gradient = zeros(logits.dtype, s, C)
    for v in range(s):
        w = 1 / s if weights is None else weights[v]
        for c in range(C):
            x, y = logits[v][c], labels[v][c]
            small = math.exp(-abs(x))  # in (0, 1]: it cannot overflow
            loss += w * (max(x, 0.0) - x * y + math.log1p(small))
            p = (1 if x >= 0 else small) / (1 + small)
            gradient[v][c] = as_dtype(logits.dtype, w * (p - y))
    return {"value": loss, "gradient": gradient}


def adam_step(theta, grad, m, v, t, lr, beta1, beta2, eps):
    def r(x):
        return as_dtype(theta.dtype, x)  # every operation is rounded on its own

    for theta_row, grad_row, m_row, v_row in rows_of(theta, grad, m, v):
        for i in range(len(theta_row)):
            g = grad_row[i]
            m_row[i] = r(r(r(beta1) * m_row[i]) + r(r(1 - beta1) * g))
            v_row[i] = r(r(r(beta2) * v_row[i]) + r(r(1 - beta2) * r(g * g)))
            m_hat = r(m_row[i] / r(1 - beta1**t))
            v_hat = r(v_row[i] / r(1 - beta2**t))
            size = r(r(math.sqrt(v_hat)) + r(eps))
            theta_row[i] = r(theta_row[i] - r(r(r(lr) * m_hat) / size))


def rows_of(theta, grad, m, v):
    """The rows of matrices; of vectors the vectors themselves."""
    if len(theta.shape) == 1:
        return [(theta, grad, m, v)]
    return list(zip(theta, grad, m, v, strict=True))


def check_dropout(X, rate, key):
    yield "type", "`X` is no array of float32 or float64", not is_floats(X)
    yield "type", "`rate` is no number", not is_real(rate)
    yield (
        "type",
        "`key` is neither an integer nor an array of uint64",
        not (is_array(key) and key.dtype == "uint64") and not is_integer(key),
    )
    yield "value", "`X` is no matrix", not has_shape(X, None, None)
    yield "value", "not 0 <= `rate` < 1", not 0 <= rate < 1
    yield "value", "`key` is not in [0, 2**64)", is_integer(key) and not is_word(key)
    yield (
        "value",
        "`key` has not one key for each row",
        is_array(key) and not has_shape(key, X.shape[0]),
    )


def check_row_l2_forward(X, eps):
    yield "type", "`X` is no array of float32 or float64", not is_floats(X)
    yield "type", "`eps` is no number", not is_real(eps)
    yield "value", "`X` is no matrix", not has_shape(X, None, None)
    yield "value", "`eps` is not above 0, or not finite", not 0 < eps < math.inf


def check_row_l2_backward(out, G, eps):
    yield "type", "`out` is no `RowL2Output`", not is_named(out, "RowL2Output")
    yield "type", "`out.Y` is no array of float32 or float64", not is_floats(out.Y)
    yield (
        "type",
        "`G` or `out.norms` is no array of the dtype of `out.Y`",
        not (is_like(G, out.Y) and is_like(out.norms, out.Y)),
    )
    yield "type", "`eps` is no number", not is_real(eps)
    yield "value", "`out.Y` is no matrix", not has_shape(out.Y, None, None)
    yield (
        "value",
        "`out.norms` has not one number for each row",
        not has_shape(out.norms, out.Y.shape[0]),
    )
    yield "value", "`G` has not the shape of `out.Y`", not has_shape(G, *out.Y.shape)
    yield "value", "`eps` is not above 0, or not finite", not 0 < eps < math.inf


def check_softmax_cross_entropy(logits, labels, weights):
    given = weights is not None
    yield "type", "`logits` is no array of float32 or float64", not is_floats(logits)
    yield "type", "`labels` is no array of the dtype of `logits`", not is_like(labels, logits)
    yield (
        "type",
        "`weights` is neither null nor an array of the dtype of `logits`",
        given and not is_like(weights, logits),
    )
    yield "value", "`logits` is no matrix", not has_shape(logits, None, None)
    yield "value", "there is no class", logits.shape[1] == 0
    yield "value", "`labels` has not the shape of `logits`", not has_shape(labels, *logits.shape)
    yield (
        "value",
        "`weights` has not one number for each node",
        given and not has_shape(weights, logits.shape[0]),
    )


def check_sigmoid_cross_entropy(logits, labels, weights):
    yield from check_softmax_cross_entropy(logits, labels, weights)


def check_adam_step(theta, grad, m, v, t, lr, beta1, beta2, eps):
    yield "type", "`theta` is no array of float32 or float64", not is_floats(theta)
    yield (
        "type",
        "`grad`, `m` or `v` is no array of the dtype of `theta`",
        not (is_like(grad, theta) and is_like(m, theta) and is_like(v, theta)),
    )
    yield "type", "`t` is no integer", not is_integer(t)
    yield (
        "type",
        "`lr`, `beta1`, `beta2` or `eps` is no number",
        not all(map(is_real, (lr, beta1, beta2, eps))),
    )
    yield (
        "value",
        "`grad`, `m` or `v` has not the shape of `theta`",
        not all(has_shape(a, *theta.shape) for a in (grad, m, v)),
    )
    yield "value", "`t` is not in [1, 2**53]", not 1 <= t <= 2**53
    yield (
        "value",
        "`lr` or `eps` is not above 0, or not finite",
        not (0 < lr < math.inf and 0 < eps < math.inf),
    )
    yield "value", "`beta1` or `beta2` is not in [0, 1)", not (0 <= beta1 < 1 and 0 <= beta2 < 1)
