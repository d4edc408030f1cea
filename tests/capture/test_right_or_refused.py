"""A map that could be wrong is refused, and a refusal names its reason."""

from __future__ import annotations

import copy
import sys
from functools import wraps
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from attnwidget import HeadGrid, load_model, make_segments, measure, watch_attention
from attnwidget.capture.tapping.output_check import OutputCheck
from attnwidget.capture.tapping.tap import tap
from fixtures import zoo
from refusals import naming
from sweep.architectures import architectures
from sweep.small_models import build, inputs_of

needs_transformers_5 = pytest.mark.skipif(
    zoo.TRANSFORMERS_4, reason="in transformers 4 the attention of this model is another class"
)
TOKENS = 21
CONFIG = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 3,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {
    "n_routed_experts": 4,
    "num_local_experts": 4,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
}
# Each query selects 6 of up to 21 keys.
SELECTION = {"index_topk": 6, "index_n_heads": 2, "index_head_dim": 8}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 8,
    "first_k_dense_replace": 1,
}
BLOCKS = {
    "head_dim": 8,
    "num_key_value_heads": 2,
    "index_n_heads": 2,
    "index_head_dim": 8,
    "index_block_size": 4,
    "index_topk_blocks": 2,
    "index_local_blocks": 1,
    "dense_intermediate_size": 48,
    "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"],
}
SPARSE = {
    "DeepseekV32": LATENT | SELECTION | EXPERTS,
    "GlmMoeDsa": LATENT | SELECTION | EXPERTS,
    "AXK2": LATENT | SELECTION | EXPERTS,
    "HYV4": LATENT | SELECTION | EXPERTS,
    "MiniMaxM3VL": BLOCKS | EXPERTS,
}


def ids(n_tokens: int = TOKENS) -> Tensor:
    return torch.randint(5, 99, (1, n_tokens), generator=torch.Generator().manual_seed(1))


def random_model(name: str, implementation: str, **fields: Any) -> Any:
    config_class = getattr(transformers, f"{name}TextConfig", None)
    config_class = config_class or getattr(transformers, f"{name}Config", None)
    if config_class is None:
        pytest.skip(f"transformers {transformers.__version__} has no {name}")
    torch.manual_seed(0)
    config = config_class(**(CONFIG | fields))
    model = getattr(transformers, f"{name}ForCausalLM")._from_config(
        config, attn_implementation=implementation
    )
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.normal_(0, 0.15)
    return model.eval()


@pytest.mark.parametrize(
    ("name", "implementation"),
    [
        (name, implementation)
        for name in SPARSE
        for implementation in ("eager", "sdpa")
        if (name, implementation) != ("HYV4", "sdpa")  # transformers refuses it
    ],
)
class TestSparseAttention:
    def test_maps_equal_the_models_own(self, name: str, implementation: str) -> None:
        hf_model = random_model(name, implementation, **SPARSE[name])
        attention = load_model(hf_model).attend({"input_ids": ids()})
        eager = random_model(name, "eager", **SPARSE[name])
        with torch.no_grad():
            expected = eager(input_ids=ids(), output_attentions=True).attentions
        for layer, maps in enumerate(expected):
            assert np.abs(attention.weights(layer) - maps[0].numpy()).max() <= 1e-5
        assert any(bool((maps[0, :, -1] == 0).any()) for maps in expected)

    def test_a_long_reading_is_refused_with_the_reason(
        self, name: str, implementation: str
    ) -> None:
        model = load_model(random_model(name, implementation, **SPARSE[name]))
        with pytest.raises(ValueError, match=naming("whole maps", "long=False")):
            model.attend({"input_ids": ids()}, long=True)


def passing_a_new_argument(attention_class: type[nn.Module], patch: pytest.MonkeyPatch) -> None:
    """Let attention modules of a class hand an unknown argument to their attention function."""
    forward = attention_class.forward

    @wraps(forward)
    def with_new_argument(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return forward(self, *args, **kwargs, tree_mask=torch.ones(1))

    patch.setattr(attention_class, "forward", with_new_argument)


class TestUnknownArguments:
    def test_an_unknown_argument_of_the_attention_function_is_refused_by_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hf_model = zoo.build("llama")
        passing_a_new_argument(type(hf_model.model.layers[0].self_attn), monkeypatch)
        with pytest.raises(ValueError, match=naming("LlamaAttention", "'tree_mask'")):
            load_model(hf_model).attend({"input_ids": ids()})

    @needs_transformers_5
    @pytest.mark.parametrize("name", ["LlavaOnevision", "GotOcr2"])
    def test_arguments_of_the_forward_may_reach_the_attention_function(self, name: str) -> None:
        language = "qwen2"
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        picture = {**sizes, "image_size": 32, "patch_size": 16}
        text = {**CONFIG, "num_hidden_layers": 2, "model_type": language}
        given: dict[str, Any] = {"image_token_id": 59}
        pixels = torch.zeros(1, 3, 32, 32)
        inputs: dict[str, Tensor] = {"pixel_values": pixels}
        count = 10
        if name == "LlavaOnevision":
            picture |= {"model_type": "siglip_vision_model", "intermediate_size": 32}
            given |= {"image_grid_pinpoints": [[32, 32], [32, 64]], "vision_feature_layer": -1}
            sizes_of_pictures = torch.tensor([[32, 32]])
            inputs = {"pixel_values": torch.zeros(1, 2, 3, 32, 32)}
            inputs["image_sizes"] = sizes_of_pictures
        else:
            picture |= {"mlp_dim": 32, "output_channels": 8, "window_size": 2, "image_size": 128}
            inputs = {"pixel_values": torch.zeros(1, 3, 128, 128)}
            count = 4
        config_class = getattr(transformers, f"{name}Config")
        config = config_class(vision_config=picture, text_config=text, **given)
        hf_model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
        inputs["input_ids"] = torch.tensor([[1, *[59] * count, 5, 6, 7]])
        attention = load_model(hf_model).attend(inputs)
        hf_model.set_attn_implementation("eager")
        with torch.no_grad():
            expected = hf_model(**inputs, output_attentions=True).attentions
        for layer, maps in enumerate(expected):
            assert np.abs(attention.weights(layer) - maps[0].numpy()).max() <= 1e-5


def branching_on_the_name(hf_model: Any, part: nn.Module) -> Any:
    """The model, of which a part puts out twice as much unless attention is eager or sdpa."""

    def branch(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        known = hf_model.config._attn_implementation in ("eager", "sdpa")
        return output if known else 2 * output

    part.register_forward_hook(branch)
    return hf_model


class TestOutputsAreCompared:
    @pytest.mark.parametrize("long", [False, True])
    def test_a_model_that_computes_otherwise_in_the_tap_is_refused(self, long: bool) -> None:
        hf_model = zoo.build("llama")
        branching_on_the_name(hf_model, hf_model.model.layers[1].mlp)
        with pytest.raises(ValueError, match=naming("LlamaForCausalLM", "other outputs")):
            load_model(hf_model).attend({"input_ids": ids()}, long=long)

    def test_a_corpus_is_refused_too(self) -> None:
        model = load_model("attnwidget/induction")
        branching_on_the_name(model.hf_model, model.hf_model.model.layers[1].mlp)
        with pytest.raises(ValueError, match=naming("LlamaModel", "other outputs")):
            measure(model, make_segments(["The cat sat on the mat."], model), "entropy")

    def test_only_the_first_reading_runs_the_model_twice(self) -> None:
        hf_model = zoo.build("llama")
        model = load_model(hf_model)
        passes = []
        hf_model.register_forward_pre_hook(lambda *_: passes.append(1))
        model.attend({"input_ids": ids()})
        first = len(passes)
        model.attend({"input_ids": ids()})
        assert (first, len(passes)) == (2, 3)

    def test_training_in_another_thread_is_no_difference(self) -> None:
        hf_model = zoo.build("llama")
        model = load_model(hf_model)

        def train(*_: object) -> None:
            with torch.no_grad():
                hf_model.model.layers[0].mlp.up_proj.weight.mul_(-1)

        hook = hf_model.model.register_forward_hook(train)
        model.attend({"input_ids": ids()})
        hook.remove()
        assert model.attend({"input_ids": ids()}).weights(0).shape == (4, TOKENS, TOKENS)

    @needs_transformers_5
    @pytest.mark.parametrize("implementation", ["eager", "sdpa"])
    def test_a_window_without_padding_is_kept_over_long_inputs(self, implementation: str) -> None:
        model = load_model(zoo.build("modernbert", implementation))
        long = model.attend({"input_ids": ids()}, long=True)
        short = model.attend({"input_ids": ids()}, long=False)
        for layer in range(3):
            assert np.abs(long.weights(layer) - short.weights(layer)).max() <= 1e-6

    def test_half_precision_may_differ_between_implementations(self) -> None:
        check = OutputCheck()
        hf_model = zoo.build("llama", "sdpa", torch.bfloat16)
        with torch.no_grad():
            output = hf_model(input_ids=ids())
            check.check(hf_model, {"input_ids": ids()}, {}, output)
            with pytest.raises(ValueError, match=naming("LlamaForCausalLM", "cannot be read")):
                OutputCheck().check(hf_model, {"input_ids": ids()}, {}, {"logits": -output.logits})


class TestFlatMapsInHalfPrecision:
    @needs_transformers_5
    def test_a_distance_penalty_of_the_models_own_is_in_the_map(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hf_model = zoo.build("bert", "eager", torch.bfloat16, positions=512)
        with torch.no_grad():
            for parameter in hf_model.parameters():
                parameter.mul_(0.2)  # flat maps
        file = sys.modules[type(hf_model).__module__]
        own_eager = file.eager_attention_forward

        def eager_attention_forward(
            module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Any, **kwargs: Any
        ) -> Any:
            positions = torch.arange(query.shape[-2])
            distance = (positions[:, None] - positions).abs()
            penalty = (-0.02 * distance).to(query.dtype)[None, None]
            mask = penalty if mask is None else mask + penalty
            return own_eager(module, query, key, value, mask, **kwargs)

        monkeypatch.setattr(file, "eager_attention_forward", eager_attention_forward)
        attention = load_model(hf_model).attend({"input_ids": ids(300)})
        with torch.no_grad():
            expected = hf_model(input_ids=ids(300), output_attentions=True).attentions
        for layer, maps in enumerate(expected):
            shown = attention.weights(layer)
            model_map = maps[0].float().numpy()
            assert np.corrcoef(shown.ravel(), model_map.ravel())[0, 1] > 0.999
            assert np.abs(shown - model_map).max() <= 0.05 * model_map.max()


def mask_without_keys_at(row: int, hidden: float) -> Tensor:
    """An additive causal mask [1, 1, n, n] in which one query may see no key."""
    mask = torch.full((TOKENS, TOKENS), hidden).triu(1)
    mask[row] = hidden
    return mask[None, None]


@pytest.mark.parametrize("long", [False, True])
class TestRowsWithoutKeys:
    @pytest.mark.parametrize("hidden", [float("-inf"), torch.finfo(torch.float32).min])
    def test_weights_and_later_layers_follow_the_loaded_implementation(
        self, hidden: float, long: bool
    ) -> None:
        hf_model = zoo.build("llama", "sdpa")
        inputs = {"input_ids": ids(), "attention_mask": mask_without_keys_at(3, hidden)}
        attention = load_model(hf_model).attend(inputs, long=long)
        expected = 0 if hidden == float("-inf") else 1 / TOKENS
        assert attention.weights(0)[:, 3] == pytest.approx(expected, abs=1e-6)
        assert not np.isnan(attention.weights(2)).any()

    def test_the_short_and_the_long_path_agree(self, long: bool) -> None:
        inputs = {"input_ids": ids(), "attention_mask": mask_without_keys_at(3, float("-inf"))}
        model = load_model(zoo.build("llama", "sdpa"))
        attention = model.attend(inputs, long=long)
        other = model.attend(inputs, long=not long)
        for layer in range(3):
            assert np.abs(attention.weights(layer) - other.weights(layer)).max() <= 1e-6

    def test_eager_attention_gives_nan_as_the_model_does(self, long: bool) -> None:
        hf_model = zoo.build("llama", "eager")
        inputs = {"input_ids": ids(), "attention_mask": mask_without_keys_at(3, float("-inf"))}
        with torch.no_grad():
            assert bool(hf_model(**inputs).logits.isnan().any())
        weights = load_model(hf_model).attend(inputs, long=long).weights(0)
        assert np.isnan(weights[:, 3]).all()
        assert not np.isnan(weights[:, 2]).any()


class TestNaN:
    """Maps of NaN look like empty maps, and the largest NaN is the first key."""

    def test_weights_that_are_not_finite_are_named(self) -> None:
        hf_model = zoo.build("llama", "sdpa")
        hf_model.model.layers[1].mlp.up_proj.weight.data[0] = float("nan")
        model = load_model(hf_model)
        parts = ("NaN", "token 0", "model.layers.1.mlp.up_proj.weight")
        with pytest.raises(ValueError, match=naming(*parts)):
            model.attend({"input_ids": ids()})
        with pytest.raises(ValueError, match=naming("NaN", "probabilities")):
            model.predict({"input_ids": ids()})

    def test_a_later_input_that_overflows_is_refused(self) -> None:
        hf_model = zoo.build("gpt2", "eager")
        hf_model.transformer.wte.weight.data[7] = 6.5e4
        hf_model.transformer.wpe.weight.data += 1e3  # the sum exceeds the largest float16
        model = load_model(hf_model.half())
        assert np.isfinite(model.attend([5, 6, 8]).weights(2)).all()
        with pytest.raises(
            ValueError, match=naming("NaN", "token 0", "float16", "dtype=torch.float32")
        ):
            model.attend([5, 7, 8])

    def test_a_long_input_is_refused(self) -> None:
        hf_model = zoo.build("llama", "sdpa")
        model = load_model(hf_model)
        long = {"input_ids": torch.randint(5, 50, (1, 40), dtype=torch.int64)}
        assert np.isfinite(model.attend(long, long=True).weights(0)).all()
        hf_model.model.norm.weight.data[0] = float("nan")
        with pytest.raises(
            ValueError, match=naming("NaN", "model.norm.weight", "earlier checkpoint")
        ):
            model.attend(long, long=True)

    def test_a_corpus_is_refused(self) -> None:
        model = load_model()
        segments = make_segments(["The captain told his men."], model)
        broken = copy.deepcopy(model.hf_model)
        broken.base_model.encoder.layer[3].output.dense.weight.data[0] = float("inf")
        with pytest.raises(ValueError, match=naming("NaN", "encoder.layer.3.output.dense.weight")):
            measure(load_model(broken, model.tokenizer), segments, ["entropy"], progress=False)


class TestReasons:
    def test_a_mask_that_the_model_computes_with_is_named(self) -> None:
        model = load_model(random_model("Doge", "eager"))
        assert model.attend({"input_ids": ids()}).weights(0).shape == (4, TOKENS, TOKENS)
        with pytest.raises(ValueError, match=naming("attention mask", "long=False")):
            model.attend({"input_ids": ids()}, long=True)

    def test_projections_that_give_tuples_have_no_norms(self) -> None:
        fields = {name: CONFIG[name] for name in CONFIG if name != "num_key_value_heads"}
        config = transformers.IBertConfig(**fields, quant_mode=False)
        attention = load_model(transformers.IBertModel(config)).attend({"input_ids": ids()})
        with pytest.raises(
            ValueError, match=naming("'encoder.layer.0.attention.output.dense'", "quantized")
        ):
            attention.norms(0)

    def test_integer_attention_is_refused_with_its_module(self) -> None:
        fields = {name: CONFIG[name] for name in CONFIG if name != "num_key_value_heads"}
        config = transformers.IBertConfig(**fields, quant_mode=True)
        with pytest.raises(ValueError, match=naming("IBertModel", "IBertSelfAttention", "softmax")):
            load_model(transformers.IBertModel(config)).attend({"input_ids": ids()})

    def test_keys_that_are_no_tokens_are_refused_with_their_number(self) -> None:
        fields = {
            "head_dim": 8,
            "num_key_value_heads": 1,
            "o_lora_rank": 16,
            "o_groups": 2,
            "sliding_window": 5,
            "num_hidden_layers": 2,
            "layer_types": ["heavily_compressed_attention", "compressed_sparse_attention"],
            "compress_rates": {
                "heavily_compressed_attention": 8,
                "compressed_sparse_attention": 4,
            },
        }
        model = random_model("DeepseekV4", "eager", **(LATENT | SELECTION | EXPERTS | fields))
        with pytest.raises(
            ValueError, match=naming("21 queries", "DeepseekV4ForCausalLM", "tokens")
        ):
            load_model(model).attend({"input_ids": ids()})

    def test_gradients_of_weights_made_in_inference_mode_are_refused(self) -> None:
        with torch.inference_mode():
            hf_model = zoo.build("llama")
        with pytest.raises(ValueError, match=naming("LlamaForCausalLM", "torch.inference_mode()")):
            load_model(hf_model).attend({"input_ids": ids()}, loss="causal")


class TestStacksWithoutWholeMaps:
    """The encoders of LED and LongT5 have no whole maps; their decoders have."""

    @pytest.mark.slow
    @pytest.mark.parametrize("model_type", ["led", "longt5"])
    def test_the_note_names_the_encoder(self, model_type: str) -> None:
        hf_model = build(model_type, architectures()[model_type][0])
        attention = load_model(hf_model, tokenizer=None).attend(inputs_of(hf_model))
        assert list(attention.stacks) == ["decoder", "cross"]
        assert "the encoder is not shown" in attention.note
        assert "the encoder is not shown" in repr(attention)
        grid = HeadGrid(attention, stack="cross")
        assert "the encoder is not shown" in grid.figure().svg


def test_a_mask_of_one_row_for_all_queries_is_read_long() -> None:
    hf_model = build("layoutlm", "LayoutLMModel")
    model = load_model(hf_model, tokenizer=None)
    inputs = inputs_of(hf_model)
    long, whole = (model.attend(inputs, long=long) for long in (True, False))
    for layer in range(whole.n_layers):
        assert np.abs(long.weights(layer) - whole.weights(layer)).max() < 1e-6


@needs_transformers_5
def test_padding_on_the_left_computes_what_sdpa_computes() -> None:
    """A recurrent layer carries what attention puts out at padding on to real tokens."""
    hf_model = build("recurrent_gemma", "RecurrentGemmaModel", "sdpa")
    inputs = inputs_of(hf_model, batch=2, padded="left")
    with torch.no_grad():
        untapped = hf_model(**inputs)[0]
        with tap(hf_model, lambda seen: None):
            tapped = hf_model(**inputs)[0]
    real = inputs["attention_mask"].bool()
    torch.testing.assert_close(tapped[real], untapped[real], atol=1e-5, rtol=0)


def test_a_refused_model_is_not_told_that_a_picture_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = load_model(build("got_ocr2", "GotOcr2ForConditionalGeneration"))
    layer = model.hf_model.model.language_model.layers[0]
    passing_a_new_argument(type(layer.self_attn), monkeypatch)
    with pytest.raises(ValueError, match=naming("Qwen2Attention", "argument")) as refused:
        model.attend({"input_ids": torch.tensor([[5, 6, 7]])})
    assert "pass both" not in str(refused.value)


def test_a_model_with_several_text_models_names_the_parts_to_load() -> None:
    text = transformers.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=16, num_layers=1)
    sound = transformers.EncodecConfig(
        hidden_size=8, num_filters=4, codebook_size=32, codebook_dim=8, target_bandwidths=[1.5]
    )
    codes = transformers.MusicgenDecoderConfig(
        vocab_size=32,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=16,
        num_codebooks=2,
    )
    config = transformers.MusicgenConfig(
        text_encoder=text.to_dict(), audio_encoder=sound.to_dict(), decoder=codes.to_dict()
    )
    model = transformers.MusicgenForConditionalGeneration(config)
    with pytest.raises(
        TypeError, match=naming("load_model", "model.text_encoder", "model.decoder")
    ):
        load_model(model)
    assert load_model(model.text_encoder).n_layers == 1


@pytest.mark.parametrize("long", [None, True])
def test_channels_of_a_time_series_are_named(long: bool | None) -> None:
    config = transformers.PatchTSTConfig(
        num_input_channels=3,
        context_length=32,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=1,
        ffn_dim=32,
    )
    hf_model = transformers.PatchTSTModel(config).eval()
    series = torch.randn(1, 32, 3, generator=torch.Generator().manual_seed(0))
    with pytest.raises(
        ValueError,
        match=naming("3 channels", "past_values", "watch_attention"),
    ):
        load_model(hf_model).attend({"past_values": series}, long=long)
    attention = hf_model.encoder.layers[0].self_attn
    if transformers.__version__.startswith("4"):
        with watch_attention(attention) as by_hand, torch.no_grad():
            hf_model(past_values=series)
        with pytest.raises(ValueError, match=naming("PatchTSTAttention", "by hand")):
            by_hand.attention(item=2)
        return
    with watch_attention(attention) as watched, torch.no_grad():
        hf_model(past_values=series)
    with watch_attention(attention) as permuted, torch.no_grad():
        hf_model(past_values=series[..., [2, 1, 0]])
    np.testing.assert_allclose(
        watched.attention(item=2).weights(), permuted.attention(item=0).weights(), atol=1e-6
    )


def test_frames_of_a_video_are_named() -> None:
    config = transformers.TimesformerConfig(
        image_size=32,
        patch_size=16,
        num_frames=4,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=32,
    )
    model = load_model(transformers.TimesformerModel(config).eval())
    with pytest.raises(ValueError, match=naming("'self'", "4 frames", "pixel_values")):
        model.attend({"pixel_values": torch.zeros(1, 4, 3, 32, 32)})
