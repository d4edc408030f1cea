"""Loading: folders without a tokenizer, and several threads that load at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from attnwidget import load_model
from attnwidget.loading.loading import loading_lock
from fixtures import zoo
from fixtures.vocabularies import byte_level, sentencepiece, word_tokenizer, wordpiece
from refusals import naming

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 400,
}
SEQ2SEQ = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": 400,
    "pad_token_id": 0,
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 4, "vocab_size": 400}
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400}
FOLDERS: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": SMALL,
    "RobertaForMaskedLM": SMALL,
    "DistilBertForMaskedLM": {"dim": 32, "n_layers": 1, "n_heads": 4, "vocab_size": 400},
    "AlbertModel": SMALL | {"embedding_size": 16},
    "GPT2LMHeadModel": GPT2,
    "GPTNeoXForCausalLM": SMALL,
    "LlamaForCausalLM": SMALL,
    "T5ForConditionalGeneration": T5,
    "BartForConditionalGeneration": SEQ2SEQ,
    "MarianMTModel": SEQ2SEQ,
}


def built(name: str, options: dict[str, Any]) -> Any:
    model_class = getattr(transformers, name)
    return model_class(model_class.config_class(**options))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path, name: str) -> None:
    model = built(name, FOLDERS[name])
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=naming("no tokenizer", "load_model")) as error:
        load_model(tmp_path, device="cpu")
    assert len(str(error.value)) < 1200 and f"{name}.from_pretrained(" in str(error.value)
    # The named way out reads ids.
    ids = load_model(model_class_of(model).from_pretrained(tmp_path))
    assert ids.tokenizer is None


def model_class_of(model: Any) -> Any:
    return getattr(transformers, type(model).__name__)


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason="Transformers 4 makes no tokenizer without files")
@pytest.mark.parametrize(
    "make", [transformers.BertTokenizer, transformers.GPT2Tokenizer, transformers.T5Tokenizer]
)
def test_an_empty_tokenizer_is_refused_as_an_object_and_as_a_folder(
    tmp_path: Path, make: Any
) -> None:
    model = built("BertForMaskedLM", SMALL)
    with pytest.raises(ValueError, match=naming(make.__name__, "no words")):
        load_model(model, make())
    model.save_pretrained(tmp_path)
    with pytest.raises(OSError, match=naming(f"'{tmp_path}'", "tokenizer", "name a folder")):
        load_model(model, tmp_path)


@pytest.mark.parametrize("tokenizer", [wordpiece, byte_level, sentencepiece, word_tokenizer])
def test_small_vocabularies_with_words_are_no_empty_ones(tokenizer: Any) -> None:
    read = tokenizer()
    model = built("BertForMaskedLM", SMALL | {"vocab_size": len(read)})
    assert load_model(model, read).tokenizer is read


def test_a_tokenizer_of_another_model_is_refused_in_a_folder_and_said_as_an_object(
    tmp_path: Path,
) -> None:
    tokenizer = word_tokenizer()
    rows = 10 * len(tokenizer) + 10
    model = built("BertForMaskedLM", SMALL | {"vocab_size": rows})
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    sizes = naming(f"{len(tokenizer)} entries", "BertForMaskedLM", f"{rows:,}", "tokenizer")
    with pytest.raises(ValueError, match=sizes):
        load_model(tmp_path, device="cpu")
    with pytest.warns(UserWarning, match=sizes):
        assert load_model(tmp_path, tokenizer, device="cpu").tokenizer is tokenizer
    with pytest.warns(UserWarning, match=sizes):
        load_model(model, tokenizer)


THREADS = """
import sys, threading
import torch
from attnwidget import load_model
from attnwidget.model_facts.pickled_model import weights_digest

names = [None, "attnwidget/genre", "attnwidget/induction", sys.argv[1]]
errors, digests = [], {name: set() for name in names}
start = threading.Barrier(2 * len(names))

def load(name):
    start.wait()
    try:
        digests[name].add(weights_digest(load_model(name, device="cpu").hf_model, whole=True))
    except BaseException as error:
        errors.append(repr(error))

threads = [threading.Thread(target=load, args=(name,)) for name in names * 2]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name in names:
    digests[name].add(weights_digest(load_model(name, device="cpu").hf_model, whole=True))
assert not errors, errors
assert [len(found) for found in digests.values()] == [1] * len(names), digests
assert torch.get_default_dtype() == torch.float32 and torch.empty(1).device.type == "cpu"
"""


def test_threads_that_load_at_once_get_whole_models(tmp_path: Path) -> None:
    zoo.build("bert").half().save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    # A failure would leave this process unable to load models.
    run = subprocess.run(
        [sys.executable, "-c", THREADS, str(tmp_path)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks of POSIX")
@pytest.mark.timeout(600)
def test_a_fork_loads_although_a_thread_was_loading() -> None:
    code = """
import os, threading
from attnwidget.loading.loading import loading_lock

held, done = threading.Event(), threading.Event()

def hold():
    with loading_lock:
        held.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if child == 0:
    with loading_lock:
        os._exit(7)
status = os.waitpid(child, 0)[1]
done.set()
thread.join()
assert os.waitstatus_to_exitcode(status) == 7
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=500)
    assert run.returncode == 0, run.stderr[-2000:]


def test_one_thread_loads_at_a_time_and_may_load_within_a_load() -> None:
    entered = threading.Event()

    def enter() -> None:
        with loading_lock:
            entered.set()

    with loading_lock, loading_lock:
        thread = threading.Thread(target=enter)
        thread.start()
        assert not entered.wait(0.2)
    thread.join()
    assert entered.is_set()


@pytest.mark.parametrize("kind", ["parameter", "buffer"])
def test_a_load_without_numbers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    zoo.build("bert").save_pretrained(tmp_path)
    word_tokenizer().save_pretrained(tmp_path)
    whole = transformers.BertForMaskedLM.from_pretrained

    def damaged(*given: Any, **options: Any) -> Any:
        model, loading = whole(*given, **options)
        embeddings = model.bert.embeddings
        if kind == "parameter":
            embeddings.word_embeddings.to("meta")
        else:
            embeddings.register_buffer("position_ids", torch.empty(1, 4, device="meta"))
        return model, loading

    monkeypatch.setattr(transformers.BertForMaskedLM, "from_pretrained", damaged)
    with pytest.raises(RuntimeError, match=naming("1 tensor", "'meta'", "embeddings")):
        load_model(tmp_path, device="cpu")


@pytest.mark.parametrize("dtype", [torch.bfloat16, "bfloat16", "torch.bfloat16"])
def test_a_type_of_weights_has_a_name(dtype: torch.dtype | str) -> None:
    model = load_model(device="cpu", dtype=dtype)
    assert model.hf_model.dtype == torch.bfloat16
    assert model.made_by is not None and "bfloat16" in str(model.made_by)
    assert load_model(device="cpu", dtype="auto").hf_model.dtype == torch.float32


@pytest.mark.parametrize("dtype", ["float17", "int8", torch.int8, 16])
def test_other_types_of_weights_are_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match=naming("dtype", '"auto"')):
        load_model(dtype=dtype)


@pytest.fixture
def silent_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test that takes this asks the hub or its cache."""

    def asked(*given: Any, **options: Any) -> None:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", asked)


@pytest.mark.parametrize(
    "name",
    ["./bert", "../bert", "/nowhere/bert", "~/nowhere/bert", "a/b/bert", "runs\\bert"],
)
@pytest.mark.usefixtures("silent_hub")
def test_a_missing_folder_is_no_name_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "here" / "runs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    full = os.path.abspath(name)
    with pytest.raises(FileNotFoundError, match=naming(repr(full), "config.json")) as error:
        load_model(name)
    assert "hub" not in str(error.value).lower()
    with pytest.raises(FileNotFoundError, match=naming(repr(full), "tokenizer")):
        load_model(zoo.build("bert"), name)


@pytest.mark.usefixtures("silent_hub")
def test_a_file_is_no_model_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.safetensors").touch()
    with pytest.raises(NotADirectoryError, match=naming("model.safetensors", f"'{tmp_path}'")):
        load_model("model.safetensors")


@pytest.mark.usefixtures("silent_hub")
def test_a_misspelled_model_of_the_package_gets_a_suggestion() -> None:
    for name, near in (("inducton", "induction"), ("shape", "shapes"), ("Genre", "genre")):
        suggestion = f"did you mean 'attnwidget/{near}'?"
        with pytest.raises(ValueError, match=naming(f"'attnwidget/{name}'", suggestion)):
            load_model(f"attnwidget/{name}")
    with pytest.raises(
        ValueError, match=naming("'attnwidget/x'", "'embedded'", "'attnwidget/genre'")
    ):
        load_model("attnwidget/x")


def test_a_name_on_the_hub_near_a_known_model_gets_a_suggestion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-bert").mkdir()
    (tmp_path / "my-bert" / "config.json").touch()
    with pytest.raises(OSError, match=naming("'my-brt'", "did you mean 'my-bert'?")):
        load_model("my-brt")
    full = f"'{os.path.abspath('inducton')}'"
    with pytest.raises(OSError, match=naming("did you mean 'attnwidget/induction'?", full)):
        load_model("inducton")
    with pytest.raises(OSError, match=naming("'no-such-model'")) as error:
        load_model("no-such-model")
    assert "did you mean" not in str(error.value)
