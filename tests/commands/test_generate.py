"""`pagesim generate`: text, token ids, records, and input that cannot be used."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import pagesim
from pagesim.errors import UsageError
from pagesim.generation import engine_on_pages
from pagesim.kernels import tiny_llm
from pagesim.kernels.tiny_llm import by_hand, maps, save, weight_files
from pagesim.simulation import Static
from tests.commands.runs import Shell, run
from tests.generation.serving import walks

MAP = "a>k;k>c;c>.;?a"


@pytest.fixture
def generate(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys, "generate")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model set by hand as a folder of Hugging Face's form."""
    made = tmp_path_factory.mktemp("model")
    save(by_hand(), made)
    return made


WAYS = [(name, "--engine", each) for name in ("walk", "by-hand") for each in ("v0", "v1")]
WAYS += [("walk", "--dtype", dtype) for dtype in ("float32", "bfloat16", "float16")]
WAYS += [("by-hand", "--backend", backend) for backend in ("triton", "fused", "numpy")]


@pytest.mark.parametrize("given", WAYS, ids=" ".join)
def test_the_models_of_the_package_walk(given: tuple[str, ...], generate: Shell) -> None:
    lines = generate(*given, "--prompt", MAP).splitlines()
    assert lines[0] == "kc."
    assert lines[1].startswith("3 tokens in 3 steps and ")


def test_answers_come_in_the_order_of_the_prompts(
    folder: Path, tmp_path: Path, generate: Shell
) -> None:
    file = tmp_path / "prompts.txt"
    file.write_text(f"{MAP}\n\n{json.dumps(maps.encode('a>b;b>.;?b'))}\n")
    lines = generate(folder, "--prompt-file", file, "--prompt", "x>y;y>.;?x").splitlines()
    assert lines[:-1] == ["0: y.", "1: kc.", "2: ."]


def test_a_folder_without_text_takes_and_gives_token_ids(
    folder: Path, tmp_path: Path, generate: Shell
) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["eos_token_id"] = [6]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").symlink_to(folder / "model.safetensors")
    for prompt in (str(maps.encode(MAP)), "4 0 14 1 14,0,6 1 6 0 3 1 2 4"):
        assert generate(tmp_path, "--prompt", prompt).splitlines()[0].split() == ["14", "6"]
    error = generate.refusal(tmp_path, "--prompt", MAP)
    assert "is text, and" in error
    assert "has no tokenizer.json. Give token ids, like [1, 2, 3]" in error


@pytest.fixture
def hybrid(folder: Path, tmp_path: Path) -> Path:
    """The same as a Qwen2, whose first layer has a window of three tokens."""
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 3}
    del config["attention_bias"], config["mlp_bias"]
    config["layer_types"] = ["sliding_attention", "full_attention"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    weights = {name: weight.contiguous() for name, weight in by_hand().weights.items()}
    for name in [name for name in weights if name.split(".")[-2] in ("q_proj", "k_proj", "v_proj")]:
        weights[name.replace(".weight", ".bias")] = torch.zeros(len(weights[name]))
    weight_files.write(tmp_path / "model.safetensors", weights)
    return tmp_path


def test_a_model_with_a_window_says_what_each_group_held(hybrid: Path, generate: Shell) -> None:
    given = hybrid, "--prompt", str(maps.encode(MAP)), "--block-size", 4
    v1 = json.loads(generate(*given, "--engine", "v1", "--json"))
    v0 = json.loads(generate(*given, "--engine", "v0", "--json"))
    assert v1["answers"][0]["samples"] == v0["answers"][0]["samples"]
    assert maps.decode(v1["answers"][0]["samples"][0]["tokens"]) == "kc."
    window, full = v1["groups"]
    assert (window["layers"], full["layers"]) == (1, 1)
    assert 0 < window["blocks"] <= full["blocks"] and "groups" not in v0
    assert len(generate(*given, "--engine", "v1").splitlines()) == 4
    assert len(generate(*given, "--engine", "v0").splitlines()) == 3


def test_numbers_of_a_run(generate: Shell) -> None:
    given = "--prompt", MAP, "--n", 2, "--temperature", 1, "--block-size", 4
    found = generate.answer("walk", *given)
    assert (found["engine"], found["backend"], found["block_size"]) == ("v0", "torch", 4)
    assert (found["steps"], found["preemptions"]) == (3, 0)
    (answer,) = found["answers"]
    assert answer.keys() == {"prompt", "state", "samples"}, "neither scores nor a reason"
    assert (answer["prompt"], answer["state"]) == (maps.encode(MAP), "finished")
    assert [sample["text"] for sample in answer["samples"]] == ["kc.", "kc."]
    assert answer["samples"][0]["tokens"] == maps.encode("kc.")


def test_a_small_pool_preempts_and_the_answers_stay(generate: Shell) -> None:
    facts = "".join(f"{a}>{b};" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)) + "k>.;?"
    given = [option for place in "abc" for option in ("--prompt", facts + place)]
    small = "--block-size", 4, "--max-tokens", 12
    roomy = generate.answer("walk", *given, *small)
    for mode in ("swap", "recompute"):
        tight = generate.answer("walk", *given, *small, "--blocks", 38, "--preemption", mode)
        assert tight["preemptions"] > 0
        assert tight["answers"] == roomy["answers"]


def test_a_second_tier_of_v1_keeps_the_prompts_that_the_gpu_loses(generate: Shell) -> None:
    prompts = "a>k;k>c;c>.;?a", "b>d;d>e;e>.;?b"
    given = [option for _ in range(3) for text in prompts for option in ("--prompt", text)]
    given += ["--engine", "v1", "--block-size", "4", "--blocks", "6", "--max-num-seqs", "1"]
    with_tier, without = (
        generate.answer("walk", *given, "--cpu-blocks", count) for count in (20, 0)
    )
    assert with_tier["answers"] == without["answers"]
    assert (without["blocks_out"], without["blocks_in"]) == (0, 0)
    assert with_tier["blocks_out"] == 6 and with_tier["blocks_in"] > 0
    line = generate("walk", *given, "--cpu-blocks", 20).splitlines()[-1]
    assert {"20", "6", str(with_tier["blocks_in"])} <= set(line.replace(",", "").split())


def test_what_v0_swaps_is_counted(generate: Shell) -> None:
    given = [option for place in "abc" for option in ("--prompt", f"{place}>b;b>.;?" + place)]
    given += ["--ignore-eos", "--max-tokens", "30", "--block-size", "4"]
    found = generate.answer("walk", *given, "--blocks", 22, "--preemption", "swap")
    assert found["blocks_in"] == found["blocks_out"] > 0


def test_beams_are_printed_when_they_are_known(generate: Shell) -> None:
    lines = generate("walk", "--prompt", MAP, "--beams", 2).splitlines()
    assert lines[0] == "0.0: kc."
    assert lines[1].startswith("0.1: ")
    found = generate.answer("walk", "--prompt", MAP, "--beams", 2)["answers"][0]
    assert found["scores"] == sorted(found["scores"], reverse=True)


@pytest.mark.parametrize("engine", ["v0", "v1"])
def test_a_recorded_run_plays_with_its_words(engine: str, tmp_path: Path, generate: Shell) -> None:
    file, page = tmp_path / "run.jsonl.gz", tmp_path / "run.html"
    given = "--prompt", MAP, "--block-size", 4, "--record", file
    assert f"pagesim play {file}" in generate("walk", "--engine", engine, *given).splitlines()[-1]
    timeline = pagesim.timeline.load(file)
    assert "walk" in (timeline.notes.title or "")
    assert timeline.notes.tokens[maps.encode("k")[0]] == "k"
    model = timeline.notes.model
    assert model is not None and (model.name, model.layers, model.bytes) == ("walk", 2, 4)
    assert (0, len(MAP) - 1) in model.values
    tables = [timeline.at(i).tables for i in range(len(timeline))]
    longest = max((table[0].token_ids for table in tables if 0 in table), key=len)
    assert "".join(timeline.notes.tokens[token] for token in longest) == MAP + "kc"
    assert run("play", file, "-o", page) == 0
    assert page.stat().st_size > 10_000


def test_what_could_not_be_answered_is_named_and_1(generate: Shell) -> None:
    given = "walk", "--prompt", MAP, "--prompt", "?a", "--block-size", 4, "--max-tokens", 4
    lines = generate(*given, "--blocks", 3, code=1).splitlines()
    why = "it needs 5 blocks, and the pool has 3"
    assert lines[0] == f"0: ignored: {why}; raise --blocks, or lower --max-tokens"
    assert lines[1].startswith("1: ")
    lines = generate(*given, "--blocks", 4, "--engine", "v1", code=1).splitlines()
    assert lines[0].startswith("0: stuck: it needs 4 blocks for its 14 tokens, and the pool has 3 ")
    assert lines[1] == "1: stuck: it waits behind request '0', which waits forever"
    found = generate.answer(*given, "--blocks", 3, code=1)["answers"][0]
    assert (found["state"], found["why"]) == ("ignored", why)


def test_prompts_that_0_6_4_answers_wrongly_are_named(tmp_path: Path, generate: Shell) -> None:
    given = walks(count=40, facts=(13, 27), most=30)
    file = tmp_path / "prompts.txt"
    file.write_text("".join(maps.decode(prompt) + "\n" for prompt in given.prompts))
    options = ["by-hand", "--prompt-file", file, "--max-tokens", 30, "--block-size", 8]
    options += ["--max-num-seqs", 8, "--max-num-batched-tokens", 64, "--prefix-caching"]
    found = generate.answer(*options, "--blocks", 41, code=1)
    right = [maps.decode(samples[0]) for samples in given.answers]
    texts = [answer["samples"][0]["text"] for answer in found["answers"]]
    wrong = [i for i in range(40) if texts[i] != right[i]]
    assert found["misread"] == wrong != []
    line = generate(*options, "--blocks", 41, code=1).splitlines()[-1]
    assert line.startswith(f"Wrong: {', '.join(map(str, wrong))}.") and "--engine v1" in line
    found = generate.answer(*options, "--blocks", 42, "--engine", "v1")
    assert [answer["samples"][0]["text"] for answer in found["answers"]] == right
    assert found["misread"] == []


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path, generate: Shell) -> None:
    file = tmp_path / "prompts.txt"
    with file.open("wb") as made:
        made.truncate(2**34)  # a hole, which takes no room
    assert f"{file}: longer than 67108864 bytes" in generate.refusal("walk", "--prompt-file", file)


def test_memory_that_runs_out_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, generate: Shell
) -> None:
    def forward(*_: object) -> None:
        torch.empty(2**60)

    monkeypatch.setattr("pagesim.generation.engine.Engine.forward", forward)
    assert "--max-num-batched-tokens" in generate.refusal("walk", "--prompt", MAP)


def test_what_the_model_set_by_hand_cannot_hold_is_ignored(generate: Shell) -> None:
    shown = generate("by-hand", "--prompt", MAP, "--max-tokens", 4083, code=1)
    assert "ignored: its 14 prompt and 4083 output tokens exceed max_model_len = 4096" in shown


@pytest.mark.parametrize("options", [("--n", 2), ("--n", 5), ("--beams", 3)])
@pytest.mark.parametrize("max_tokens", [1, 3, 20])
def test_the_default_pool_preempts_nothing(
    options: tuple[str, int], max_tokens: int, generate: Shell
) -> None:
    """V0 wants a free block for each sample of a group before it goes on."""
    given = "--prompt", "?a", *options, "--max-tokens", max_tokens, "--ignore-eos"
    assert generate.answer("walk", *given)["preemptions"] == 0


def test_a_folder_called_as_a_model_of_the_package_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generate: Shell
) -> None:
    (tmp_path / "by-hand").mkdir()
    (tmp_path / "by-hand" / "tokenizer.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    assert generate("by-hand", "--prompt", MAP).splitlines()[0] == "kc."


@pytest.mark.skipif(sys.platform != "linux", reason="names of any bytes")
def test_a_run_of_a_folder_whose_name_is_not_text_is_recorded(
    folder: Path, tmp_path: Path, generate: Shell
) -> None:
    (tmp_path / "\udcff").symlink_to(folder)
    generate(tmp_path / "\udcff", "--prompt", MAP, "--record", tmp_path / "run.jsonl")
    assert pagesim.load(tmp_path / "run.jsonl").notes.title == "The language model \ufffd writes"


def test_without_stdout_an_answer_is_still_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run("generate", "walk", "--prompt", MAP, "--record", tmp_path / "run.jsonl") == 0
    assert (tmp_path / "run.jsonl").exists()


def test_why_a_text_does_not_go_on_has_a_line_of_its_own(generate: Shell) -> None:
    given = "--prompt", "?a", "--engine", "v1", "--blocks", 2, "--max-tokens", 20, "--ignore-eos"
    text, why, _ = generate("walk", *given, code=1).splitlines()
    assert len(text) == 15
    assert why.startswith("stuck: it needs 2 blocks for its 17 tokens, and the pool has 1 ")


def test_blocks_that_stay_free_are_a_number(generate: Shell) -> None:
    given = "--prompt", MAP, "--blocks", 1, "--max-num-batched-tokens", 8
    shown = generate("walk", *given, code=1)
    assert "the pool has 1, of which 1 stay free; raise --blocks" in shown


@pytest.mark.parametrize("options", [(), ("--temperature", 1), ("--beams", 2)])
def test_numbers_that_overflow_are_no_answer(
    options: tuple[object, ...], folder: Path, tmp_path: Path, generate: Shell
) -> None:
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    model = tiny_llm.load(folder)
    model.weights["lm_head.weight"].fill_(torch.nan)
    save(model, tmp_path)
    error = generate.refusal(tmp_path, "--prompt", MAP, *options)
    assert "the logits of answer 0 are not finite" in error


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_config_of_another_encoding(
    encoding: str, folder: Path, tmp_path: Path, generate: Shell
) -> None:
    (tmp_path / "config.json").write_text((folder / "config.json").read_text(), encoding)
    (tmp_path / "model.safetensors").symlink_to(folder / "model.safetensors")
    assert generate(tmp_path, "--prompt", MAP).splitlines()[0] == "kc."


@pytest.mark.parametrize(
    "given", [{"policy": "paged"}, {"policy": Static()}, {"limits": 3}, {"model": "walk"}]
)
def test_an_engine_on_pages_names_what_it_cannot_use(given: dict[str, Any]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(TypeError, match=f"{name} must be .*, not .*{type(value).__name__}"):
        engine_on_pages(**{"model": tiny_llm.walk(), "blocks": 3} | given)


def test_v1_refuses_to_swap_and_names_the_way_out(generate: Shell) -> None:
    error = generate.refusal("walk", "--prompt", MAP, "--engine", "v1", "--preemption", "swap")
    assert "--preemption" in error and "--cpu-blocks" in error


def test_numpy_reads_no_bfloat16() -> None:
    model = tiny_llm.walk()
    model.head = model.head.to(torch.bfloat16)
    with pytest.raises(UsageError, match="bfloat16"):
        engine_on_pages(model, blocks=3, backend="numpy")


def test_no_room_on_the_cpu_names_the_option(generate: Shell) -> None:
    given = [option for _ in range(3) for option in ("--prompt", MAP)]
    pool = "--block-size", 4, "--blocks", 13, "--preemption", "swap", "--cpu-blocks", 1
    more = "--max-tokens", 30, "--ignore-eos"
    _, error = generate.printed("walk", *given, *pool, *more, code=2)
    assert "--cpu-blocks 1: no CPU swap space" in error


def test_a_damaged_folder_is_named(folder: Path, tmp_path: Path, generate: Shell) -> None:
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-9])
    assert str(tmp_path) in generate.refusal(tmp_path, "--prompt", MAP)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, generate: Shell) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert 'pip install "pagesim[kernels]"' in generate.refusal("walk", "--prompt", MAP)


def test_a_folder_with_a_real_tokenizer(folder: Path, tmp_path: Path, generate: Shell) -> None:
    """The words of the maps, as the package tokenizers reads them; make installs it."""
    tokenizers = pytest.importorskip("tokenizers")
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).symlink_to(folder / name)
    ids = {word: token for token, word in enumerate(maps.WORDS)}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words.save(str(tmp_path / "tokenizer.json"))
    prompt = "arch > lake ; lake > cave ; cave > . ; ? arch"
    assert generate(tmp_path, "--prompt", prompt).splitlines()[0].split() == ["lake", "cave", "."]
    (tmp_path / "tokenizer.json").write_text("{")
    assert "tokenizer.json is not a tokenizer: " in generate.refusal(tmp_path, "--prompt", prompt)
