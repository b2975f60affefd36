"""The examples run as a user runs them, source_lines.py on less data; what they print is what they mean to teach."""

import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.support.processes import python

EXAMPLES = Path(__file__).parents[2] / "examples"
N_ROWS, N_TAUS = 3000, 3
LINE_OF_TABLE = re.compile(
    r"^ *(?P<tau>plain|softmax|[\d.e+-]+) +(?P<features>[\d,]+) +(?P<accuracy>[\d.]+) +(?P<auc>[\d.]+)$"
)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source_lines")
    return folder, python(EXAMPLES / "source_lines.py", "--rows", N_ROWS, "--taus", N_TAUS, cwd=folder)


pytestmark = pytest.mark.slow  # without the JIT


@pytest.fixture
def printed(capsys, monkeypatch):
    """What the example of a name prints, run here with some options."""

    def run(name, *options):
        monkeypatch.syspath_prepend(EXAMPLES)  # as python does with the folder of a script
        monkeypatch.setattr("sys.argv", [f"{name}.py", *map(str, options)])
        with warnings.catch_warnings():
            runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.fixture
def output(request, printed):
    return printed(request.param)


def example(name):
    return pytest.mark.parametrize("output", [name], indirect=True)


def numbers(output, start, pattern=r"-?[\d.]+"):
    """The numbers of each line that starts so, behind that start."""
    lines = [line.strip() for line in output.splitlines() if line.strip().startswith(start)]
    return [[float(v) for v in re.findall(pattern, line[len(start) :])] for line in lines]


def test_every_example_has_a_test():
    tests = "".join(path.read_text() for path in Path(__file__).parents[1].rglob("test_*.py"))
    imported = "".join(path.read_text() for path in EXAMPLES.glob("*.py"))
    for path in EXAMPLES.glob("*.py"):
        tested = re.search(rf'"{path.stem}(\.py)?"', tests)
        assert tested or re.search(rf"^(from|import) {path.stem}\b", imported, re.MULTILINE), path.name


FAMILY_LINES = {
    "dark parts out of 16": "binomial",
    "0, or a positive size": "compound_poisson",
    "a positive size": "gamma",
    "a first passage time": "inverse_gaussian",
}


@example("families")
def test_families_shows_one_of_ones_own_beside_the_others(output):
    accuracy = {name: numbers(output, meaning)[0][-1] for meaning, name in FAMILY_LINES.items()}
    assert max(accuracy, key=accuracy.get) == "binomial" and accuracy["binomial"] > 0.9
    assert accuracy["compound_poisson"] > accuracy["gamma"] > accuracy["inverse_gaussian"] > 0.1  # 10 classes


def test_several_passes_come_closer_than_one(printed):
    output = printed("several_passes", "--penalties", 1)
    found = {name: numbers(output, f"{name} ")[0] for name in ("LinearNB", "SoftmaxRegressionCV", "scikit-learn's")}
    assert found["SoftmaxRegressionCV"][0] > found["LinearNB"][0] + 0.03 and found["LinearNB"][2] == 1
    assert found["SoftmaxRegressionCV"][1] > found["scikit-learn's"][1] - 0.005


def test_a_search_finds_what_scikit_learn_has_and_more(printed):
    output = printed("searching", "--rows", 300)
    blind, asked = numbers(output, "of rows held back")
    assert blind[0] >= 0.95 and asked[0] > 0.9 and "asked: 26 candidates, 0 left out" in output
    assert numbers(output, "margin of all classes: accuracy")[0][2] < 0.1  # the gap
    plain, _, corrected = numbers(output, "naive Bayes on bins, corrected by")
    assert min(plain[-1], corrected[-1]) > 0.85


@example("mixed")
def test_mixed_columns_are_judged_by_families_of_their_own(output):
    losses = {name: numbers(output, f"{name} ")[0][1] for name in ("gaussian", "inverse_gaussian", "mixed")}
    assert min(losses, key=losses.get) == "mixed"
    assert len(numbers(output, "strong")[0]) == 3 and "magnesium" not in output


@example("counters")
def test_counters_leak_where_rows_know_themselves(output):
    auc = [float(line.split()[-1]) for line in output.splitlines()[1:]]
    assert auc[1] > 0.9 and auc[2] > 0.85, "without the row alone, and a thousand folds"
    assert all(0.45 < each < 0.56 for each in auc[4:]), "five folds, two folds, naive Bayes on held-out folds"


@example("against_others")
def test_others_are_stood_beside_on_digits(output):
    accuracy = {
        line.split(",")[1].split()[0]: float(line.split()[-4]) for line in output.splitlines() if "streamnb," in line
    }
    assert accuracy["regularised"] > 0.97 and accuracy["SoftmaxRegression"] > 0.95 and accuracy["LinearNBCV"] > 0.85
    assert accuracy["search"] > 0.97
    theirs = numbers(output, "scikit-learn, LogisticRegression")[0]
    assert theirs[0] > 0.95 and theirs[2] < 0.2 and "flights" not in output


@example("covariance")
def test_covariances_help_where_features_go_together(output):
    digits = output[output.index("digits") :]
    accuracy = {name: numbers(digits, name)[0][0] for name in ("naive Bayes", "linear", "regularised")}
    assert accuracy["naive Bayes"] < accuracy["linear"] < accuracy["regularised"] and accuracy["regularised"] > 0.98


@example("trees")
def test_trees_see_what_naive_bayes_does_not(output):
    found = [[float(v) for v in re.findall(r"0\.\d+", line)] for line in output.splitlines() if "accuracy" in line]
    assert all(tree > naive - 0.003 for naive, tree in found) and found[0][1] > 0.94 and len(found) == 3
    assert len(re.findall(r"pixel_\d_\d and pixel_\d_\d tell", output)) == 3


@example("penalties")
def test_penalties_choose_shrink_and_help(output):
    plain = numbers(output, "none")[0]
    for name in ("L1 ", "L2 ", "Separable"):
        lines = numbers(output, name)
        assert all(size < plain[-2] for *_, size, _ in lines)
        assert max(accuracy for *_, accuracy in lines) > plain[-1]
    assert [line[:3] for line in numbers(output, "TopK")] == [[8, 31, 8], [32, 53, 32]]
    wanted = [(line[1], line[2]) for line in numbers(output, "tau =")]
    assert [n for n, _ in wanted] == [48, 32, 16]


@example("schemes")
def test_schemes_agree_where_they_are_one_classifier(output):
    tables = output.split("penalty=")[1:]
    plain = {name: numbers(tables[0], name)[0] for name in ("joint", "ovr", "ovo", "reference")}
    assert plain["joint"][2:] == plain["reference"][2:]
    assert [plain[name][0] for name in plain] == [10, 10, 45, 9]
    assert len(re.findall(r"^ovo .* none$", output, re.MULTILINE)) == 2
    assert numbers(tables[1], "joint")[0][1] < plain["joint"][1]


@example("three_sites")
def test_three_sites(output):
    assert "rows: north 90, south 210, west 269" in output
    assert "LinearNBCV in 2 rounds" in output and "same bits as fits of all rows in one place: True" in output


@example("multilabel")
def test_multilabel_finds_every_label(output):
    for label in ("even", "prime", "has a loop", "is drawn in one stroke", "is zero"):
        assert numbers(output, label)[0][-1] > 0.85  # ROC AUC
    assert 0.5 < numbers(output, "all labels right:")[0][0] < 1


@example("tags")
def test_tags_told_together_are_told_better(output):
    starts = "naive Bayes", "present words", "space of 7", "space of 14", "stack"
    bayes, present, _, space, stack = (numbers(output, start)[0][-2] for start in starts)
    assert stack > max(bayes, present) and space > bayes


@example("priors_and_estimates")
def test_priors_matter_for_few_rows(output):
    assert output.count("a feature never or always occurs in a class") == 9
    found = re.findall(r"^(\w+) .*\b(posterior_mean|predictive) +[\d.]+ +([\d.]+)$", output, re.MULTILINE)
    losses = {(family, estimate): float(loss) for family, estimate, loss in found}  # under the second prior
    assert losses["bernoulli", "predictive"] == losses["bernoulli", "posterior_mean"]  # the mean is the predictive
    for family in ("poisson", "multinomial"):
        assert losses[family, "predictive"] < losses[family, "posterior_mean"]


@example("decisions")
def test_decisions_by_losses_cost_least_of_those_on_every_row(output):
    cost = {name: numbers(output, name)[0][-1] for name in ("likeliest class  ", "class_weight='b", "least expected")}
    assert min(cost, key=cost.get) == "least expected"
    assert numbers(output, "likeliest class, unsure below 99 %")[0][2] > 0


@example("drop_ins")
def test_drop_ins_give_the_same_numbers(output):
    lines = [line for line in output.splitlines() if "NB " in line]
    assert len(lines) == 6 and sum("100.0%" in line for line in lines) == 5
    assert all(float(line.split()[-1]) < 1e-8 for line in lines[:5])
    assert "streamnb   variances are the same bits" in output


@example("cross_validation")
def test_cross_validation_rules_choose_fewer_features(output):
    best, one_se, fewest = (numbers(output, rule)[0] for rule in ("best", "one_se", "parsimonious"))
    assert best[0] < one_se[0] < fewest[0] and best[1] > one_se[1] > fewest[1]
    assert best[2] >= one_se[2] >= fewest[2] >= 0.99 * best[2]
    assert len(re.findall(r"^\d:.* #", output, re.MULTILINE)) == 10


@example("streaming")
def test_streaming_forgets_exactly(output):
    assert "the same bits as a fit without them: True" in output
    first, *_, last = (float(line.split()[-1]) for line in re.findall(r"^ +\d+,\d+ +\d .*$", output, re.MULTILINE))
    assert last > first > 1 / 6


@example("zarr_and_dask")
def test_rows_from_anywhere_give_the_same_weights(output):
    lines = [re.findall(r"\[(.*)\] +(\w+)", line)[0] for line in output.splitlines() if "[" in line]
    assert len(lines) == 7 and len({weights for weights, _ in lines}) == 1
    assert [kind for _, kind in lines].count("dask") == 1


@example("select_features")
def test_select_features_compares_the_criteria(output):
    accuracy = {name: numbers(output, f"{name} ")[-1][-1] for name in ("chi2", "score", "all pixels")}
    assert min(accuracy.values()) > 0.5 and max(accuracy, key=accuracy.get) == "all pixels"


@example("texts")
def test_texts_are_told_by_their_words(output):
    naive, softmax, few = (numbers(output, name)[0][-1] for name in ("naive Bayes, one", "softmax,", "20 words"))
    assert softmax > few > 0.5 and naive > few
    assert all(word in output for word in ("charset", "sock", "mock"))


@pytest.mark.process
def test_source_lines_prints_the_path(first_run):
    _, ran = first_run
    assert ran.returncode == 0, ran.stderr
    table = [match for line in ran.stdout.splitlines() if (match := LINE_OF_TABLE.match(line))]
    assert len(table) == N_TAUS + 2 and table[0]["tau"] == "plain" and table[-1]["tau"] == "softmax"
    assert 0.15 < float(table.pop()["accuracy"]) < 1  # of two dozen packages
    kept = [int(match["features"].replace(",", "")) for match in table]
    assert max(kept) == kept[0] and min(kept) == kept[-1] <= 2
    assert 0.15 < float(table[0]["accuracy"]) < float(table[0]["auc"]) < 1
    assert "Telling tokens" in ran.stdout and "rows/s" in ran.stdout
    assert re.search(r"reading and hashing [\d.]+ s, summing [\d.]+ s", ran.stdout)


@pytest.mark.process
def test_source_lines_saves_model_and_picture(first_run):
    folder, _ = first_run
    model = snb.load(folder / "build" / "source_lines.model")
    held_out = snb.text(folder / "build" / "source_lines" / "held_out.jsonl", "text", "package", words=(1, 2))
    assert model.score(held_out) > 0.15
    assert (folder / "build" / "source_lines.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.process
def test_source_lines_keeps_its_texts(first_run, printed, monkeypatch):
    folder, first = first_run
    monkeypatch.chdir(folder)
    again = printed("source_lines", "--rows", N_ROWS, "--taus", 1)
    assert "kept in" in again and "kept in" not in first.stdout
    plain = [next(filter(LINE_OF_TABLE.match, output.splitlines())) for output in (first.stdout, again)]
    assert plain[0] == plain[1]


def test_source_lines_touches_no_folder_of_others(printed, tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("mine")
    with pytest.raises(SystemExit, match="no folder of this example"):
        printed("source_lines", "--texts", tmp_path, "--out", tmp_path)
    assert kept.read_text() == "mine"


def test_thesis_tables_are_printed_and_saved(printed, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")  # without apt
    output = printed("thesis_tables", "--out", tmp_path / "tables", "--points", 3, "--debian")
    assert "No Debian packages" in output
    text = (tmp_path / "tables" / "digits.txt").read_text()
    assert text in output
    cells = [float(score) for score in re.findall(r"(\d\.\d{4}) +\(\d+\)", text)]
    frame = pd.read_csv(tmp_path / "tables" / "digits.csv")
    assert len(cells) == len(frame) == 3 * 5 * 11
    by_line = frame.pivot_table(index=["family", "class"], columns="penalty", values="score", sort=False)
    np.testing.assert_allclose(cells, by_line.to_numpy().ravel(), atol=6e-5)
    assert by_line.loc[("gaussian", "overall")].min() > 0.95


@pytest.mark.process
def test_which_package_tells_packages_apart_without_a_dense_table(tmp_path):
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
    names = [f"{a}-{b}" for a in words for b in words]
    lines = [f"usr/share/{name}/part{i}/{name[::-1]}.txt  main/{name}\n" for name in names for i in range(20)]
    (tmp_path / "Contents-all").write_text("".join(np.random.default_rng(0).permutation(lines)))
    options = "--contents", "Contents-all", "--memory", "20MB"
    ran = python(EXAMPLES / "which_package.py", *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "1,998 paths of 100 packages" in ran.stdout and "would need 0.2 GB" in ran.stdout
    assert "2 held-out paths: 100.0% right, 100.0% among the first ten" in ran.stdout
    assert 0.0 < numbers(ran.stdout, "Peak memory")[0][0] < 1.0
    assert float(re.search(r"class sums ([\d.]+) MB", ran.stdout)[1]) < 1.0


def test_which_package_says_what_it_lacks(printed, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "No file lists of Debian" in printed("which_package")


def test_pictures_are_saved_and_their_paths_printed(printed, tmp_path):
    files = [Path(line) for line in printed("pictures", tmp_path / "new" / "folder").splitlines()]
    assert len(files) == 10 and set(files) == set((tmp_path / "new" / "folder").iterdir())
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


@example("svmlight")
def test_svmlight_files_are_fitted_judged_and_converted(output):
    ((of_fit,),) = numbers(output, "61 of 64 features kept,")
    (((right, n_rows),)) = [numbers(line, "")[0] for line in output.splitlines() if line.endswith("new rows")]
    assert of_fit > 0.9 and right > 0.8 and n_rows == 300
    assert "1,497 rows, 64 features" in output and "the same model from a store: True" in output


@example("cells")
def test_markers_of_cells_are_the_genes_they_were_made_with(output):
    for kind in ("B", "NK", "T"):
        (line,) = [line for line in output.splitlines() if line.startswith(f"{kind} cell: ")]
        assert line.count(f"{kind}-gene") == 3
    assert "predicted_probability" in output and float(output.split()[0]) > 0.8
    (line,) = [line for line in output.splitlines() if line.startswith("t-tests: ")]
    assert line.count(" cell': ") == 3  # each kind has genes whose corrected p-value is small


@example("taxonomy")
def test_reads_are_named_as_deep_as_they_are_sure(output):
    of = {rank: numbers(output, f"{rank}:")[0] for rank in ("family", "genus", "species")}
    assert of["genus"][:2] == [1.0, 1.0] and of["species"][1] > 0.98
    assert of["species"][0] > 0.9 > 0.5 > of["species"][2]  # relatives of known species are named less deep


@example("flights")
def test_flights(output):
    ((columns, auc, log_loss, _),) = numbers(output.replace(",", ""), "naive Bayes")
    ((more, better, less, _),) = numbers(output.replace(",", ""), "logistic regression pairs")
    assert 0.63 < auc < better - 0.04 and less < log_loss - 0.02 and more > columns > 300
    assert "late above all: tailnum=N" in output and re.search(r"with probability 0\.\d\d$", output.strip())


@example("search_features")
def test_searches_choose_better_pixels_than_a_criterion(output):
    score = {by: numbers(output, by)[0][0] for by in ("mutual_info", "fcbf", "sfs", "backward", "all pixels")}
    assert score["mutual_info"] < score["fcbf"] < score["sfs"] < score["all pixels"]
    assert score["backward"] > score["fcbf"] and "of 40 candidates" in output


@pytest.mark.filterwarnings("ignore:.*of those tried")  # the texts are those of this Python
def test_a_corpus_is_filtered(printed):
    output = printed("filter_corpus", "--files", 150)
    (kept,) = [line for line in output.splitlines() if " kept (10.0%), " in line]
    before, after = numbers(output, "wanted")[0]
    assert after > before + 10.0 and "the same call again finds 1 of 1 parts written" in output, kept


def test_a_filter_of_datatrove_keeps_wine():
    ended = python(EXAMPLES / "datatrove_filter.py")
    if ended.returncode:
        assert "needs the package datatrove" in ended.stderr
    else:
        kept = [line.partition(" ")[2] for line in ended.stdout.splitlines()]
        assert kept == ["a glass of red wine", "wine, white or red"]


def test_reports_are_three_pages(printed, tmp_path):
    lines = printed("reports", tmp_path, 1200).splitlines()
    assert [Path(line.split(": ")[0]).name for line in lines] == ["flights.html", "digits.html", "subjects.html"]
    assert all("How good it is" in page.read_text() for page in tmp_path.glob("*.html"))
