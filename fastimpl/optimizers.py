"""refimpl/optimizers.py on a kernel."""

from fastimpl import _optimizers
from fastimpl._twin import twin
from refimpl.optimizers import adam_arguments


@twin
def adam_step(theta, grad, m, v, t, *, lr=0.01, beta1=0.9, beta2=0.999, eps=1e-8):
    theta, grad, m, v, t, lr, beta1, beta2, eps = adam_arguments(
        theta, grad, m, v, t, lr, beta1, beta2, eps
    )
    _optimizers.adam_step(
        theta.reshape(-1),
        grad.reshape(-1),
        m.reshape(-1),
        v.reshape(-1),
        lr,
        beta1,
        1 - beta1,
        beta2,
        1 - beta2,
        1 - beta1**t,
        1 - beta2**t,
        eps,
    )
