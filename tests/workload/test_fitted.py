"""The fitted summaries: what they keep of the data, and that draws are like it."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pagesim.commands.fit import fit
from pagesim.workload import Request, Workload, load
from pagesim.workload.fit import summarize
from pagesim.workload.fitted import Summary, summary
from tests.workload.test_files import TRACES

NAMES = {
    "sharegpt": "sharegpt_first_turn_2rps.csv",
    "azure_conv": "azure2023_conv.csv",
    "mooncake": "mooncake_fast25_conversation_first3000_hashes.csv",
}


def middles(edges: tuple[int, ...]) -> np.ndarray:
    return (np.array(edges[:-1]) + np.array(edges[1:]) - 1) / 2


@pytest.mark.parametrize("name", NAMES)
def test_a_table_has_all_requests_and_means_within_a_percent_of_the_data(name: str) -> None:
    kept = summary(name)
    counts = np.array(kept.counts)
    assert counts.sum() == kept.requests
    prompt = counts.sum(axis=1) @ middles(kept.prompt_edges) / kept.requests
    output = counts.sum(axis=0) @ middles(kept.output_edges) / kept.requests
    assert prompt == pytest.approx(kept.mean_prompt, rel=0.01)
    assert output == pytest.approx(kept.mean_output, rel=0.01)
    assert kept.source
    assert kept.licence.startswith(("Apache-2.0", "CC-BY-4.0"))
    assert len(kept.to_json()) < 5000


@pytest.mark.parametrize("name", NAMES)
def test_a_draw_fills_every_cell_as_often_as_the_data_did(name: str) -> None:
    """Pearson's χ² over the joint table: about 1 a cell if prompts and answers go together."""
    kept = summary(name)
    drawn = kept.draw(20_000, seed=3)
    table, *_ = np.histogram2d(
        [request.prompt_tokens for request in drawn],
        [request.output_tokens for request in drawn],
        bins=(kept.prompt_edges, kept.output_edges),
    )
    expected = np.array(kept.counts) * (20_000 / kept.requests)
    assert not table[expected == 0].any()
    full = expected > 5
    chi_squared = ((table - expected)[full] ** 2 / expected[full]).sum()
    assert 0.8 < chi_squared / full.sum() < 1.2
    assert drawn.requests_per_s == pytest.approx(kept.requests_per_s, rel=0.03)


def test_a_cell_s_lengths_are_all_drawn() -> None:
    requests = tuple(Request(str(i), i / 2, 100 + i, 3) for i in range(8))
    fitted = summarize(Workload("w", "made up", requests), "w", "made up", "none")
    assert fitted.prompt_edges == (100, 108)
    assert fitted.output_edges == (3, 4)
    assert fitted.counts == ((8,),)
    assert fitted.requests_per_s == 2
    drawn = fitted.draw(400)
    assert {request.prompt_tokens for request in drawn} == set(range(100, 108))
    assert {request.output_tokens for request in drawn} == {3}


def test_a_summary_of_a_burst_has_no_rate() -> None:
    burst = Workload("w", "made up", (Request("0", 0, 1, 1), Request("1", 0, 9, 5)))
    fitted = summarize(burst, "w", "made up", "none")
    assert fitted.requests_per_s is None
    assert fitted == Summary.from_json(fitted.to_json())
    assert fitted.draw(5)[-1].arrival_s == 0


def fitted(folder: Path, row: str) -> Result:
    """What the command answers about a trace that goes on like this after 0,7."""
    (folder / "x.csv").write_text(f"arrival_s,prompt_tokens,output_tokens\n0,7,{row}\n")
    about = ["--name", "x", "--source", "s", "--licence", "l", "-o", str(folder / "x.json")]
    return CliRunner().invoke(fit, [str(folder / "x.csv"), *about])


def test_the_command_writes_what_the_function_finds(tmp_path: Path) -> None:
    result = fitted(tmp_path, "9\n2,7,12")
    assert result.exit_code == 0, result.output
    expected = summarize(load(tmp_path / "x.csv"), "x", "s", "l")
    assert Summary.from_json((tmp_path / "x.json").read_text()) == expected
    assert expected.counts == ((1, 0, 1),)
    assert (expected.mean_prompt, expected.mean_output) == (7, 10.5)


def test_the_command_names_a_bad_row_and_returns_2(tmp_path: Path) -> None:
    result = fitted(tmp_path, "0")
    assert result.exit_code == 2
    assert "x.csv:2: column output_tokens must be" in result.output
    assert not (tmp_path / "x.json").exists()


@pytest.mark.skipif(not TRACES.is_dir(), reason="the original traces are not beside this clone")
@pytest.mark.parametrize("name", NAMES)
def test_fitting_the_original_again_gives_the_kept_summary(name: str) -> None:
    kept = summary(name)
    stream = load(TRACES / NAMES[name])
    assert summarize(stream, kept.name, kept.source, kept.licence) == kept
