"""Tree-augmented naive Bayes once more: row by row, one probability at a time, nothing shared with the package."""

import math
from collections import Counter
from itertools import combinations


class NaiveTree:
    """Of rows of levels; `levels` says how many each feature has, `bound` what information has to pass, by freedom."""

    def __init__(self, rows, y, weight=None, levels=None, smoothing=1.0, strength=5.0, bound=None):
        self.rows, self.y = [tuple(map(int, row)) for row in rows], list(y)
        self.weight = [1.0] * len(self.y) if weight is None else [float(w) for w in weight]
        self.n = len(self.rows[0])
        self.levels, self.s, self.n0 = levels or [2] * self.n, smoothing, strength
        self.classes = sorted(set(self.y))
        self.total = math.fsum(self.weight)
        self.bound = bound
        self.parent = self.tree()

    def counted(self, key):
        """The weight of the rows of each key."""
        found = Counter()
        for row, label, w in zip(self.rows, self.y, self.weight):
            found[key(row, label)] += w
        return found

    def information(self, i, j):
        both = self.counted(lambda row, label: (row[i], row[j], label))
        one, other = (self.counted(lambda row, label, at=at: (row[at], label)) for at in (i, j))
        of_class = self.counted(lambda row, label: label)
        return sum(
            w / self.total * math.log(w * of_class[label] / (one[a, label] * other[b, label]))
            for (a, b, label), w in both.items()
            if w
        )

    def held(self, i, j):
        if self.bound is None:
            return True
        freedom = len(self.classes) * (self.levels[i] - 1) * (self.levels[j] - 1)
        return 2.0 * self.total * self.information(i, j) > self.bound[freedom]

    def tree(self):
        """By Kruskal's method, and then from the lowest feature of each tree on; where the package takes Prim's."""
        pairs = [pair for pair in combinations(range(self.n), 2) if self.held(*pair)]
        edges = sorted((-round(self.information(i, j) * 2**40), i, j) for i, j in pairs)
        group, near = list(range(self.n)), {j: [] for j in range(self.n)}
        for _, i, j in edges:
            if group[i] != group[j]:
                near[i].append(j)
                near[j].append(i)
                old = group[j]
                group = [group[i] if g == old else g for g in group]
        parent = {}
        for root in range(self.n):
            todo = [] if root in parent else [root]
            parent.setdefault(root, -1)
            while todo:
                at = todo.pop()
                for j in near[at]:
                    if j not in parent:
                        parent[j] = at
                        todo.append(j)
        return [parent[j] for j in range(self.n)]

    def share(self, j, a, label):
        w = self.counted(lambda row, y: (row[j], y))
        n = self.counted(lambda row, y: y)
        return (w[a, label] + self.s) / (n[label] + self.s * self.levels[j])

    def given(self, j, a, b, label):
        q = self.parent[j]
        w = self.counted(lambda row, y: (row[j], row[q], y))
        n = self.counted(lambda row, y: (row[q], y))
        return (w[a, b, label] + self.n0 * self.share(j, a, label)) / (n[b, label] + self.n0)

    def log_joint(self, row, label):
        of_class = self.counted(lambda row, y: y)
        score = math.log(of_class[label] / self.total)
        for j, q in enumerate(self.parent):
            p = self.share(j, row[j], label) if q < 0 else self.given(j, row[j], row[q], label)
            score += math.log(p)
        return score

    def probabilities(self, row):
        logs = [self.log_joint(tuple(map(int, row)), label) for label in self.classes]
        top = max(logs)
        shares = [math.exp(one - top) for one in logs]
        return [one / sum(shares) for one in shares]
