"""Pictures and sounds as single inputs of studies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from numbers import Number
from pathlib import Path
from typing import Any

from attnwidget.inputs.chat_text import is_chat
from attnwidget.inputs.media_chat import PICTURES, SOUNDS
from attnwidget.text.counted import counted
from attnwidget.text.places import Media, Sound, picture_array
from attnwidget.text.segments import Segment
from attnwidget.text.sound_file import sound_of

MEDIA = (
    "a picture is a PIL image, a path (pathlib.Path) or an array [height, width, 3]; a sound is a "
    "pair (samples, rate) or the path of a WAV file; a dict has pictures in 'image' or 'images', "
    "sounds in 'audio', and a text in 'text'"
)
_PICTURES = ("images", "image")
_SOUND_FILES = (".wav", ".wave")
_MOST_CHANNELS = 8
_LEAST_RATE = 1000


@dataclass(frozen=True, eq=False)
class MediaInput:
    """Pictures and sounds that a model reads together, with a text if there is one.

    Attributes:
        media: Pictures and sounds.
        text: String, chat or dict of inputs; None for models without a text.
        digest: Hash of the media and the text, which identifies the input in resume files.
    """

    media: Media = field(repr=False)
    text: Any
    digest: str


@dataclass(frozen=True)
class MediaSegment(Segment):
    """Pictures and sounds, with their text, as an input of a study.

    `first` has a hash of the pictures and sounds, which identifies them in resume files.
    """

    given: MediaInput = field(compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class EncodedMedia:
    """Pictures and sounds of a study, with the numbers that passes need.

    The pixel tensors are large, so they are made again for each pass.

    Attributes:
        given: Pictures, sounds and text.
        digest: Hash of `given`.
        decoded: Ids that the decoder of an encoder-decoder reads; None for other models.
        shapes: Name and shape of each input tensor.
        n_tokens: Number of queries in the stack that is studied.
    """

    given: MediaInput = field(repr=False, compare=False)
    digest: str
    decoded: tuple[int, ...] | None
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    n_tokens: int

    @property
    def shape(self) -> object:
        """Shapes of the tensors; inputs of the same shape share a batch."""
        return self.shapes


def is_media(item: object) -> bool:
    """Return whether an input of a study is a picture, a sound, or a row that contains these.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.media_input import is_media
        >>> is_media(np.zeros((8, 8, 3))), is_media((np.zeros(800), 16000)), is_media("a text")
        (True, True, False)
    """
    if isinstance(item, (MediaInput, MediaSegment)):
        return True
    if isinstance(item, Mapping):
        return any(name in item for name in (*_PICTURES, "audio"))
    if isinstance(item, (str, bytes, list)):
        return False
    if isinstance(item, tuple):
        return _is_sampled(item)
    return isinstance(item, (Path, Sound)) or hasattr(item, "__array__") or hasattr(item, "convert")


def media_input(item: Any, number: int = 0) -> MediaInput:
    """Return a picture, a sound or a row that contains these as one input.

    Args:
        item: Input in a form of `MEDIA`; a `MediaInput`, which is returned unchanged; or a segment
            of it.
        number: Index of the input in the study, for errors.

    Raises:
        TypeError: The item is neither a picture nor a sound.
        ValueError: A row has no pictures and no sounds, or an array is not a picture.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.media_input import media_input
        >>> row = {"image": np.zeros((8, 8, 3)), "text": "what color?"}
        >>> len(media_input(row).media.pictures), media_input(row).text
        (1, 'what color?')
    """
    if isinstance(item, MediaInput):
        return item
    if isinstance(item, MediaSegment):
        return item.given
    if not is_media(item):
        raise TypeError(
            f"expected pictures or sounds, got {type(item).__name__} as number {number}: {MEDIA}"
        )
    text = item.get("text") if isinstance(item, Mapping) else None
    images, audio = _pictures_and_sounds(item)
    media = given_media(text, images, audio)
    if not media:
        raise ValueError(f"row {number} has no picture and no sound: {MEDIA}")
    digest = blake2b(digest_size=16)
    for picture in media.pictures:
        digest.update(repr(picture.shape).encode() + picture.tobytes())
    for sound in media.sounds:
        digest.update(repr(sound.rate).encode() + sound.samples.tobytes())
    digest.update(repr(text).encode())
    return MediaInput(media, text, digest.hexdigest())


def media_segments(items: Iterable[Any]) -> Iterator[MediaSegment]:
    """Yield pictures and sounds as segments with an `index`.

    Items that are already such segments are not changed.

    Args:
        items: Pictures, sounds or rows with both.

    Raises:
        TypeError: An item is neither a picture nor a sound.
        ValueError: A row has no pictures and no sounds, or an array is not a picture.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.media_input import media_segments
        >>> [segment.index for segment in media_segments([np.zeros((8, 8, 3))] * 2)]
        [0, 1]
    """
    for number, item in enumerate(items):
        if isinstance(item, MediaSegment):
            yield item
            continue
        media = media_input(item, number)
        yield MediaSegment((media.digest,), index=number, given=media)


def given_media(text: Any, images: Any, audio: Any) -> Media:
    """Return the pictures and sounds of an input.

    Args:
        text: Text of the input. The messages of a chat may contain pictures and sounds, or paths
            of files.
        images: One picture or a list of pictures: PIL images, paths, or arrays; or an array of
            pictures [n, height, width, 3].
        audio: One sound or a list of sounds: `Sound`, (samples, rate), or paths of WAV files.

    Raises:
        TypeError: An item is not a picture or not a sound.
        ValueError: Numbers are not valid colors or samples; or pictures or sounds are both in the
            messages and in `images` or `audio`.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.media_input import given_media
        >>> len(given_media(None, np.zeros((4, 6, 3)), None).pictures)
        1
    """
    in_chat = _in_messages(text) if is_chat(text) else ([], [])
    pictures = _several(images, lambda value: not isinstance(value, (list, tuple)))
    sounds = _several(audio, _is_sound)
    for kind, message_items, separate_items in (
        ("pictures", in_chat[0], pictures),
        ("sounds", in_chat[1], sounds),
    ):
        if message_items and separate_items:
            raise ValueError(
                f"the messages have {counted(len(message_items), kind[:-1])}, and "
                f"{counted(len(separate_items), kind[:-1])} apart from them: "
                f"pass {kind} in one place"
            )
    return Media(
        tuple(picture_array(picture) for picture in in_chat[0] or pictures),
        tuple(sound_of(sound) for sound in in_chat[1] or sounds),
    )


def _several(given: Any, is_one: Any) -> list[Any]:
    """Return a list of pictures or sounds from one item, a list, an array or None."""
    if given is None:
        return []
    if getattr(given, "ndim", 0) == 4:
        return list(given)
    return [given] if is_one(given) else list(given)


def _is_sound(value: Any) -> bool:
    is_pair = isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Number)
    return is_pair or isinstance(value, (str, Path, Sound, Mapping))


def _in_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Return the pictures and the sounds in chat messages, as objects or paths."""
    media_by_kind: tuple[list[Any], list[Any]] = [], []
    for message in messages:
        content = message.get("content")
        if not isinstance(content, (list, tuple)):
            continue
        for part in content:
            if not isinstance(part, Mapping):
                continue
            if part.get("type") == "video":
                raise ValueError(
                    "a message has a video, and videos are not read: pass frames of the video as "
                    'pictures, {"type": "image", "image": frame}'
                )
            for kind_index, kinds in enumerate((PICTURES, SOUNDS)):
                if part.get("type") not in kinds:
                    continue
                names = (*kinds, "path")
                value = next((part[name] for name in names if name in part), None)
                if isinstance(value, str) and "://" in value:
                    raise ValueError(
                        f"a message names {value!r}, and nothing is fetched: pass the picture or "
                        "the path of a file"
                    )
                if value is not None:
                    media_by_kind[kind_index].append(value)
    return media_by_kind


def refuse_unnamed(text: object) -> None:
    """Raise TypeError for a picture or a sound in place of a text.

    Raises:
        TypeError: The text is a picture or a sound, or a list of these.

    Example:
        >>> import numpy as np
        >>> from attnwidget.inputs.media_input import refuse_unnamed
        >>> refuse_unnamed("a text")
        >>> refuse_unnamed((np.zeros(800), 16000))
        Traceback (most recent call last):
        TypeError: a sound is passed by name, audio=...
    """
    first = text[0] if isinstance(text, list) and text else text
    if isinstance(first, Sound) or (isinstance(first, tuple) and _is_sampled(first)):
        raise TypeError("a sound is passed by name, audio=...")
    if hasattr(first, "convert") or len(getattr(first, "shape", ())) > 2:
        raise TypeError("a picture is passed by name, images=...")


def _is_sampled(pair: tuple[Any, ...]) -> bool:
    """Return whether a pair is (samples, rate), rather than a gray picture with a class number.

    Sample rates are above 1,000, and samples have few channels.
    """
    if len(pair) != 2 or not hasattr(pair[0], "__array__") or not hasattr(pair[1], "__index__"):
        return False
    shape: tuple[int, ...] = tuple(getattr(pair[0], "shape", ()))
    is_flat = len(shape) == 1 or (len(shape) == 2 and shape[1] <= _MOST_CHANNELS)
    return is_flat and pair[1].__index__() >= _LEAST_RATE


def _pictures_and_sounds(item: Any) -> tuple[Any, Any]:
    """Return the pictures and the sounds of an input, as arguments for `given_media`."""
    if isinstance(item, Mapping):
        images = next((item[name] for name in _PICTURES if name in item), None)
        return images, item.get("audio")
    is_file = isinstance(item, Path) and item.suffix.lower() in _SOUND_FILES
    is_sound = is_file or isinstance(item, (tuple, Sound))
    return (None, item) if is_sound else (item, None)
