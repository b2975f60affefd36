"""K-mers as anybody would count them in Python, and files of sequences."""

from collections import Counter

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def counted(sequence, k, both_strands=False):
    """The count of each k-mer of a sequence; with both strands, of the first of it and its reverse complement."""
    letters = "".join(sequence.split()).upper().replace("U", "T")
    found = Counter(letters[i : i + k] for i in range(len(letters) - k + 1))
    plain = Counter()
    for kmer, n in found.items():
        if set(kmer) <= set("ACGT"):
            plain[min(kmer, kmer[::-1].translate(COMPLEMENT)) if both_strands else kmer] += n
    return dict(plain)


def fasta(sequences, labels=None, width=60, end="\n"):
    """FASTA of sequences called s0, s1, .., with lines of this width."""
    records = []
    for i, letters in enumerate(sequences):
        lines = [letters[at : at + width] for at in range(0, len(letters), width)]
        records.append(end.join([f">s{i}" + (f" {labels[i]}" if labels is not None else ""), *lines, ""]))
    return "".join(records).encode()


def fastq(sequences, labels=None, end="\n"):
    """FASTQ of the same, of qualities that look like headers."""
    headers = [f"@s{i}" + (f" {labels[i]}" if labels is not None else "") for i in range(len(sequences))]
    records = [
        (header, letters, "+", "@>+"[i % 3] * len(letters))
        for i, (header, letters) in enumerate(zip(headers, sequences))
    ]
    return "".join(end.join([*record, ""]) for record in records).encode()
