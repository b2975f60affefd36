"""Letters of successive heartbeats, and how often each word of them occurs in a window or a record."""

from streamnb.kernels.compiler import brick, kernel

# The letters A to F as 0 to 5, by which of R, T and R / T is not less than before: 4, 2 and 1, added up. Where R and T
# part, the ratio goes with R, also where products are rounded to a tie.
LETTERS = 5, 1, 3, 3, 2, 2, 4, 0


@brick
def letter(r, t, next_r, next_t):
    """The letter from a beat to the next; the ratios are compared without a division."""
    return LETTERS[4 * (next_r >= r) + 2 * (next_t >= t) + (next_r * t >= r * next_t)]


@brick
def moved(counts, words, n_words, columns, values, at):
    """Move the counts of these words to where `at` says, which leaves none; return where they end."""
    for k in range(n_words):
        columns[at + k] = words[k]
        values[at + k] = counts[words[k]]
        counts[words[k]] = 0
    return at + n_words


@kernel
def count_words(R, T, begins, order, stride, length, state, counts, words, columns, values, sizes):
    """Count the words of each row: of a window of `length` letters, or of a whole record if `length` is 0.

    Return how many rows have ended. Their words are in `columns`, each once and in the order in which they came first,
    how often they came in `values`, and how many they are in `sizes`. Beat 0 is the last one of the call before;
    begins[i] says that beat i is the first of a record, where a window that has begun is left out. What the open row
    holds stays in `counts`, with its words in `words`, and in `state`: the letters at its end as a number, how many
    letters it has, how many are missing to the next word, and how many words it has.
    """
    word, n_letters, missing, n_words = state[0], state[1], state[2], state[3]
    shift = len(counts) // 6
    n_rows, at = 0, 0
    for i in range(1, len(R)):
        if not begins[i]:
            word = word % shift * 6 + letter(R[i - 1], T[i - 1], R[i], T[i])
            n_letters += 1
            missing -= 1
            if missing == 0:
                missing = stride
                if counts[word] == 0:
                    words[n_words] = word
                    n_words += 1
                counts[word] += 1
        if begins[i] or n_letters == length:
            end = moved(counts, words, n_words, columns, values, at)
            if length == 0 or not begins[i]:
                sizes[n_rows] = end - at
                n_rows += 1
                at = end
            word, n_letters, missing, n_words = 0, 0, order, 0
    state[0], state[1], state[2], state[3] = word, n_letters, missing, n_words
    return n_rows
