"""Error feedback in plain Python: lists of Fractions, one worker after another, nothing fast."""

from fractions import Fraction


def top(k):
    """Top-K, ties to the first."""

    def compress(x):
        kept = sorted(range(len(x)), key=lambda i: (-abs(x[i]), i))[:k]
        return [v if i in kept else Fraction(0) for i, v in enumerate(x)]

    return compress


def mean(vectors):
    """The average."""
    return [sum(column, Fraction(0)) / len(vectors) for column in zip(*vectors, strict=True)]


def descent(kind, compress, gradients, x, gamma, steps, eta=Fraction(1), dense=True):
    """Weights before every step and at the end, and what every worker has in memory at the end.

    `gradients(x, t)` gives one list for every worker; `kind` is "Plain", "EF14", "EF21", "EF21M" or "EControl", of
    which eta is the weight of the error.
    """
    path, memory, momentum, estimate = [x], None, None, [Fraction(0)] * len(x)
    if kind == "EControl":
        return controlled(compress, gradients, x, gamma, steps, eta, dense)[:2]
    for t in range(steps):
        stack = gradients(x, t)
        if kind == "EF14":
            memory = memory or [[Fraction(0)] * len(x) for _ in stack]
            offered = [[e + gamma * g for e, g in zip(*pair, strict=True)] for pair in zip(memory, stack, strict=True)]
            sent = [compress(p) for p in offered]
            memory = [[p - c for p, c in zip(*pair, strict=True)] for pair in zip(offered, sent, strict=True)]
            x = [v - c for v, c in zip(x, mean(sent), strict=True)]
        elif kind == "Plain":
            x = [v - gamma * c for v, c in zip(x, mean([compress(g) for g in stack]), strict=True)]
        else:
            if t == 0:
                momentum = [list(g) for g in stack]
                memory = [list(g) if dense else [Fraction(0)] * len(x) for g in stack]
                estimate = mean(memory)
            weight = eta if kind == "EF21M" else Fraction(1)
            momentum = [
                [(1 - weight) * h + weight * g for h, g in zip(*pair, strict=True)]
                for pair in zip(momentum, stack, strict=True)
            ]
            sent = [
                compress([h - g for h, g in zip(*pair, strict=True)]) for pair in zip(momentum, memory, strict=True)
            ]
            memory = [[g + c for g, c in zip(*pair, strict=True)] for pair in zip(memory, sent, strict=True)]
            estimate = [g + c for g, c in zip(estimate, mean(sent), strict=True)]
            x = [v - gamma * g for v, g in zip(x, estimate, strict=True)]
        path.append(x)
    return path, memory


def controlled(compress, gradients, x, gamma, steps, eta, dense=True):
    """The same of EControl, and what every worker's error is at the end."""
    path, memory, errors = [x], None, None
    for t in range(steps):
        stack = gradients(x, t)
        if t == 0:
            errors = [[Fraction(0)] * len(x) for _ in stack]
            memory = [list(g) if dense else [Fraction(0)] * len(x) for g in stack]
        for i, gradient in enumerate(stack):
            sent = compress([eta * e + g - h for e, g, h in zip(errors[i], gradient, memory[i], strict=True)])
            memory[i] = [h + c for h, c in zip(memory[i], sent, strict=True)]
            errors[i] = [e + g - h for e, g, h in zip(errors[i], gradient, memory[i], strict=True)]
        x = [v - gamma * h for v, h in zip(x, mean(memory), strict=True)]
        path.append(x)
    return path, memory, errors
