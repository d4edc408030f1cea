"""Reading and editing attention in a running model, with torch and transformers only.

The tap registers an attention function and a mask function with transformers. A context variable
activates them for a single forward pass, without effect on other threads or models. For models with
their own attention code, a torch function mode observes the softmax. Modules run uncompiled and in
eval mode during the pass, also for other threads that use the same model. The end of the pass
restores everything, even after an exception.

`inputs/text_ids.py` turns texts into vocabulary ids for all entry points: `attend`, lists of words,
segments of a corpus, and sentences of a treebank. `text/running_text.py` keeps the words of a text
with their spaces. `tests/corpus/test_same_reading.py` checks that every study uses the same ids as
`attend`, for every tokenizer family.

`inputs/chat_text.py` writes a chat with the tokenizer's template. The template runs again for each
part of a message, with a marker in its place. The characters that differ belong to the message, so
the package needs no knowledge of templates. `Tokens.roles` and `Tokens.turns` follow from the token
positions in the text, and `Segment.roles` passes them on to studies.

An `Attention` stores queries (after the position encoding), keys, masks and biases, and computes
maps on request. During the pass, each layer is compared with the model's own weights. If a layer
cannot be reproduced from queries and keys, its weights are stored, and `repr` says so. In float32,
maps equal the model's own weights to within 3e-6, or about 1e-5 for long inputs.
`Attention.from_queries_keys` makes the same layers from states that another program recorded.
`capture/watch_attention.py` records the states of torch's attention functions in any module. It
also names attention modules that it cannot read (`capture/tapping/unread_attention.py`), refuses
batch rows that are not inputs (`capture/tapping/call_inputs.py`), and follows tensors from module
arguments to queries and keys (`capture/tapping/tensor_sources.py`).

Head effects and head importance need the gradient of every map, but only a few numbers from each
gradient. `capture/maps/gradient_numbers.py` computes these numbers layer by layer in the backward
pass. The autograd graph stores queries and keys in place of large maps, and recomputes each map.

Results do not depend on the state of the user's process. Public functions that read a model or an
attention run in `kernels/plain_torch.py`: with gradients on and without autocast, as in a new
process. Every tensor has an explicit dtype and device, and models are made in
`model_facts/plain_defaults.py`. Tests fail for public functions outside of `plain_torch`, and for
tensors without a dtype or a device. Another test runs the main calls in many process states.

Above 1,024 tokens the tap computes the layer itself, some rows at a time (`kernels/streaming.py`).
The model gets its outputs, and the tap stores each row's largest score and largest weight. Any
weight then follows as `largest * exp(score - top)`. The mask passes through the model as a function
(`capture/tapping/lazy_mask.py`), and only the needed parts are computed. Metrics receive some rows
of a map at a time; `LayerBatch.first` is the index of the first row.

`capture/default_method.py` chooses the default replacement of disabled heads: "zero" if tokens see
no later tokens, which a pass over two tokens shows, and "uniform" otherwise. Blocks, figures,
effects and studies read it from `AttentionModel.default_method`.

`capture/tapping/stack_names.py` gives every attention module a stack, from its path only: modules
share a stack if their paths agree before the layer number. Shapes cannot decide, because a text may
have as many tokens as a picture has patches. A tower without maps over whole inputs is left out
with a note (`capture/maps/readable_stacks.py`). `capture/maps/patch_probe.py` finds which picture
patch each token has read, by running the model. A probe stops before the first layer and costs
about as much as the embeddings of 20 pictures.

`capture/maps/text_probe.py` finds which tokens of a longer sequence are words, by running the
model. The words of models that also read a page image or regions therefore keep their names.

Disabled heads do not change the layers below them. `capture/tapping/layer_outputs.py` stores the
outputs of these layers, and later passes start above them: study passes
(`capture/tapping/replay.py`), and figure passes (`capture/maps/lower_layers.py`). The first such
pass of a model is compared with a full pass. An output that a later layer has overwritten is not
used.

Edges and patches refer to positions in the text. `capture/tapping/text_positions.py` uses the cache
to find the text position of each query and key in a pass.

Token regions (`Tokens.places`) have two independent sources. `capture/places/picture_places.py`
sends ramps of brightness through the user's processor, and fits the picture position of each model
pixel. A fit that agrees with a resize and a crop by whole pixels is replaced by these exact
numbers. `capture/maps/patch_probe.py` asks the model for the patches of each token. If the two
disagree, there are no boxes, and the note of the attention gives the reason. Times in a sound
follow from the strides in the model configuration (`capture/places/sound_strides.py`). A figure
draws a map row on the media: `mode="places"` is a third way to draw the same `MapSource`, after
lines and matrix.

The number of tokens in a picture or a sound is known only when a layer reads them. If the input is
long, a pass that makes whole maps stops at this layer, and the input is read again without whole
maps (`capture/maps/collect_layers.py`).

`inputs/token_boundaries.py` finds words from vocabulary ids only, so that a text, its ids, a dict
and a generated text have the same words. Only a list of words, and a text whose vocabulary does not
show words, need the text (`given_words.py`). `make sweep` compares the words for every tokenizer
class (`tests/sweep/words.py`).

Padding around the text in a dict of inputs is removed before the model reads the text, because some
models number positions from the first token on, and predictions follow the last token. Other masked
tokens stay in the input, and are left out of maps and losses.

`capture/tapping/output_check.py` compares the outputs of the first tapped pass with a plain pass. A
model may branch on the name of its attention function and compute something else under the tap. The
comparison then raises an error. A pass that has drawn random numbers is compared with another pass.
`make sweep` (`tests/sweep`) compares outputs and maps for every transformers architecture, also
with the inputs that its tokenizer writes.

Every copy from a GPU waits for all work queued on it. The numbers of a batch therefore stay on
their device until its last layer (`corpus/waiting_numbers.py`), the thumbnails of all layers are
copied together, and a mask that layers share is inspected once (`capture/tapping/of_latest.py`).
Kernels process as many cells at once as a processor cache holds, and far more on a GPU
(`kernels/cells_at_once.py`). Tests simulate a GPU on the CPU (`tests/fixtures/pretended_gpu.py`):
the simulation counts waits, and refuses operations on tensors from two devices.

Maps that were computed elsewhere stay in their array library. `kernels/array_library.py` lets numpy
and torch share the code for tiles, thumbnails and words, so that numpy maps need no torch.
`tests/project/test_without_torch.py` blocks imports of torch and transformers.

`capture/tapping/layer_numbers.py` stores the numbers of layers with attention. Accumulators store
sums for these layers only. Results and figures have an entry for every layer, so that an index is
the model's layer number everywhere (`LayerNumbers.spread`).

Norms need no queries-by-keys-by-units tensor: the norm ||f(x)|| of each key follows from a
triangular factor of the head's output projection. The projection is found by name, and checked once
against the model's output. If a model has no f, an error gives the reason.
"""
