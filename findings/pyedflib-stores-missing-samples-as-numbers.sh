#!/usr/bin/env bash
# pyEDFlib 0.1.42: EdfWriter.writeSamples takes NaN, and samples outside of the physical range that the header states,
# without an error. The second come back as the end of the range, the first as a number like any other. One would expect
# an error for both. It matters here because gaps of an electrocardiogram are NaN elsewhere, for example in wfdb, and
# become steps in the signal. Seen: "0.5, 1.0, -1.0, a number for NaN". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet pyedflib==0.1.42
"$folder/venv/bin/python" - "$folder/signal.edf" <<'PYTHON'
import math
import sys

import numpy as np
import pyedflib

header = {"label": "ECG", "dimension": "mV", "sample_frequency": 4, "transducer": "", "prefilter": ""}
header |= {"physical_min": -1, "physical_max": 1, "digital_min": -32768, "digital_max": 32767}
with pyedflib.EdfWriter(sys.argv[1], 1) as writer:
    writer.setSignalHeader(0, header)
    writer.writeSamples([np.array([0.5, 3.0, -5.0, np.nan])])
with pyedflib.EdfReader(sys.argv[1]) as reader:
    found = [round(float(sample), 3) for sample in reader.readSignal(0)]
print(*found, sep=", ")
assert found[:3] == [0.5, 1.0, -1.0] and not math.isnan(found[3]), found
PYTHON
