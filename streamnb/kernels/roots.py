"""The exact scalar of a multinomial class under L1."""

from streamnb._jit import kernel


@kernel
def total_pull(excess, share, threshold, free):
    """The root T of T = sum_j clip(excess[j] + T share[j], -threshold[j], threshold[j]), free features unclipped.

    The right side is piecewise linear. A Newton step solves the segment it stands in exactly, so the root is
    found once the segment is; the bracket halves where steps would cycle. Sums run over the clipped features alone:
    excess sums to zero and share to one. Where nothing need be clipped every T in a range is a root.
    """
    flat_low, flat_high = -1e308, 1e308
    middle = reach = bound = 0.0
    for j in range(len(excess)):
        if free[j]:
            middle += excess[j]
        elif share[j] > 0.0:
            bound += share[j]
            flat_low = max(flat_low, (-threshold[j] - excess[j]) / share[j])
            flat_high = min(flat_high, (threshold[j] - excess[j]) / share[j])
            reach += threshold[j]
    if bound == 0.0:
        return 0.0
    if flat_low <= flat_high:
        # well inside the range, where rounding cannot make a feature count as clipped
        return 0.0 if flat_low <= 0.0 <= flat_high else 0.5 * (flat_low + flat_high)
    low, high = (middle - reach) / bound, (middle + reach) / bound
    total = min(max(0.0, low), high)
    for _ in range(200):
        slope = 0.0
        level = 0.0
        for j in range(len(excess)):
            if free[j]:
                continue
            moved = excess[j] + total * share[j]
            if moved > threshold[j]:
                slope += share[j]
                level += threshold[j] - excess[j]
            elif moved < -threshold[j]:
                slope += share[j]
                level -= threshold[j] + excess[j]
        if slope * total < level:
            low = total
        else:
            high = total
        step = level / slope if slope > 0.0 else 0.5 * (low + high)
        if abs(step - total) <= 4e-16 * abs(step):
            return step
        total = step if low < step < high else 0.5 * (low + high)
    return total
