"""K-mers of nucleotide sequences, counted by row straight from the bytes of a file: CSR with sorted columns."""

from streamnb.kernels.compiler import kernel
from streamnb.kernels.ngrams import count_keys

AMBIGUOUS, IGNORED, WRONG = 4, 5, 6  # kinds of bytes beside the four letters, 0 to 3


@kernel
def count_kmers(
    buffer, starts, stops, kinds, k, numbers, n_columns, keys, sorted_keys, places, lengths, indptr, indices, data
):
    # the k-mers of each sequence as CSR: indptr[0] = 0, columns ascend in each row; lengths[i]: the letters of row i.
    # The code of a k-mer has two bits for each letter; its column is numbers[code], or the code if there are none.
    # Returns the position of the first wrong byte, -1 if there is none
    mask = (1 << (2 * k)) - 1
    for i in range(len(starts)):
        code, run, n, length = 0, 0, 0, 0  # `run` letters, of which none is ambiguous, precede
        for at in range(starts[i], stops[i]):
            kind = int(kinds[int(buffer[at])])
            if kind < AMBIGUOUS:
                code, run, length = (code << 2 | kind) & mask, run + 1, length + 1
                if run >= k:
                    column = code if len(numbers) == 0 else int(numbers[code])
                    keys[n] = column << 1  # the low bit is a sign, of which k-mers have none
                    n += 1
            elif kind == AMBIGUOUS:
                run, length = 0, length + 1
            elif kind == WRONG:
                return at
        lengths[i] = length
        indptr[i + 1] = count_keys(keys, sorted_keys, n, n_columns, places, 0, indices, data, indptr[i])
    return -1
