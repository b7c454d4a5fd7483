"""What moves, counted message by message: for definitions of collectives."""


def counted(P, steps):
    """What every rank sends and receives, the steps, and the words of the busiest rank of each added up.

    Steps are lists of (sender, receiver, words), a message each.
    """
    sent, received, count, path = [0] * P, [0] * P, [0] * P, 0
    for step in steps:
        before = list(sent), list(received)
        for p, r, size in step:
            sent[p] += size
            received[r] += size
            count[p] += 1
        path += max(max(sent[p] - before[0][p], received[p] - before[1][p]) for p in range(P))
    return {"sent": sent, "received": received, "messages": count, "steps": len(steps), "critical_path": path}
