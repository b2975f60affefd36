"""Turns intervals between heartbeats into letters and counts their n-grams by window or record."""

from streamnb.kernels.compiler import brick, kernel

# The letters A to F as 0 to 5, by which of R, T and R / T do not decrease: the sum of 4, 2 and 1. Where R and T differ,
# the ratio moves with R, also where products are rounded to a tie.
LETTERS = 5, 1, 3, 3, 2, 2, 4, 0


@brick
def letter(r, t, next_r, next_t):
    """The letter for a beat and the next; ratios are compared without division."""
    return LETTERS[4 * (next_r >= r) + 2 * (next_t >= t) + (next_r * t >= r * next_t)]


@brick
def moved(counts, words, n_words, columns, values, at):
    """Move the counts of these words to the output from `at` on and reset them; return the end."""
    for k in range(n_words):
        columns[at + k] = words[k]
        values[at + k] = counts[words[k]]
        counts[words[k]] = 0
    return at + n_words


@kernel
def count_words(R, T, begins, order, stride, length, state, counts, words, columns, values, sizes):
    """Count the words of each row: of a window of `length` letters, or of a whole record if `length` is 0.

    Return the number of finished rows. Their distinct words are in `columns`, in order of first occurrence, with counts
    in `values`, and the number of words of each row in `sizes`. Beat 0 is the last one of the previous call; begins[i]
    marks beat i as the first of a record, where an unfinished window is dropped. The open row stays in `counts`, with
    its words in `words`, and in `state`: its last letters as a number, its number of letters, the letters missing until
    the next word, and its number of words.
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
