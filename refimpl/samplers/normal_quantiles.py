"""Quantiles of the normal distribution, cosine and sine, with the same bits on every machine.

Dependent minibatches compare numbers that are made of them. A library's functions differ in their
last bit from one machine to another, and a port could then draw another sample. Not in the papers.
"""

import numpy as np

# Wichura 1988, Algorithm AS 241 (PPND16): numerators and denominators from the constant on, for
# the middle, for tails, and for the farthest tails; then the series of the logarithm.
TABLE = np.array(
    [
        [3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
         1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
         3.3430575583588128105e4, 2.5090809287301226727e3],
        [1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
         2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
         5.2264952788528545610e3],
        [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
         3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4],
        [1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9],
        [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7],
        [1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15],
        [1 / (2 * k + 1) for k in range(8)],
        [1 / (2 * k + 1) for k in range(8, 16)],
    ]
)  # fmt: skip
TABLE.flags.writeable = False
LN_2, ROOT_HALF = 0.6931471805599453, 0.7071067811865476


def normal_quantile(p):
    """Return the quantiles of the standard normal distribution at `p`, at least at 2**-54.

    Algorithm AS 241, on a logarithm of its own: additions, products, quotients and square roots
    alone, which give the same bits everywhere.
    """
    p = np.maximum(p, 2.0**-54)
    q = p - 0.5
    r = 0.180625 - q * q
    middle = q * (_horner(TABLE[0], r) / _horner(TABLE[1], r))
    s = np.sqrt(-logarithm(np.minimum(p, 1 - p)))
    near = _horner(TABLE[2], s - 1.6) / _horner(TABLE[3], s - 1.6)
    far = _horner(TABLE[4], s - 5) / _horner(TABLE[5], s - 5)
    return np.where(np.abs(q) <= 0.425, middle, np.copysign(np.where(s <= 5, near, far), q))


def logarithm(x):
    m, e = np.frexp(x)
    low = m < ROOT_HALF
    m, e = np.where(low, 2 * m, m), e - low
    s = (m - 1) / (m + 1)
    return 2 * s * _horner(TABLE[6:].reshape(-1), s * s) + e * LN_2


def _horner(coefficients, x):
    y = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = y * x + c
    return y


def cos_sin(x):
    """Return the cosine and the sine of `x` in [0, pi / 2] by their series, alike everywhere."""
    sums, term = [0.0, 0.0], 1.0
    for k in range(26):
        sums[k % 2] += -term if k % 4 > 1 else term
        term = term * x / (k + 1)
    return sums[0], sums[1]
