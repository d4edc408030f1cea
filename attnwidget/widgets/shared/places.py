"""Page data of pictures, sounds, and the positions of tokens in them."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.text.counted import counted
from attnwidget.text.places import Box, Media, Place, Sound, Span
from attnwidget.text.tokens import Tokens
from attnwidget.widgets.wire.values import to_wire

if TYPE_CHECKING:
    from PIL import Image

#: Maximum length of a picture's longer side on a page, in pixels.
LONGEST_SIDE = 1024
# Maximum size of a lossless picture in bytes; larger pictures are sent as JPEG files.
_LOSSLESS_BYTES = 200_000
_JPEG_QUALITY = 85
#: Maximum length of a sound that a page can play, in seconds.
MOST_SECONDS = 60.0
# Maximum sample rate on a page in hertz, which is enough for speech.
_MOST_RATE = 24_000
# Number of waveform points, which is larger than any figure's width in pixels.
_POINTS = 2048


def has_places(tokens: Tokens) -> bool:
    """Return True if any token has a position in a picture or a sound.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.shared.places import has_places
        >>> has_places(Tokens.plain(["The", "cat"]))
        False
    """
    return any(place is not None for place in tokens.places)


def places_to_wire(places: Sequence[Place | None], n_pictures: int) -> dict[str, Any] | None:
    """Return places as float32 [tokens, 5], NaN for a token without a place; None without places.

    A row has the number of the medium (pictures first, then sounds), left, top, right and bottom.
    For a span of a sound, left and right are the start and the end in seconds, and top and bottom
    are the lowest and the highest frequency, or NaN for all frequencies.

    Args:
        places: Place of each token, or None.
        n_pictures: Number of pictures in the input.

    Example:
        >>> from attnwidget.results import Box
        >>> from attnwidget.widgets.shared.places import places_to_wire
        >>> wire = places_to_wire([None, Box(0, 0, 0, 8, 8)], n_pictures=1)
        >>> wire["shape"]
        [2, 5]
    """
    if all(place is None for place in places):
        return None
    return to_wire(np.array([_numbers(place, n_pictures) for place in places], np.float32))


def _numbers(place: Place | None, n_pictures: int) -> tuple[float, ...]:
    if isinstance(place, Box):
        return place.picture, place.left, place.top, place.right, place.bottom
    if isinstance(place, Span):
        low, high = (np.nan if hertz is None else hertz for hertz in (place.low, place.high))
        return n_pictures + place.sound, place.start, low, place.end, high
    return (np.nan,) * 5


def first_query(
    query: Tokens,
    key: Tokens,
    n_prompt: int | None,
    sees_others: Callable[[int], bool] = lambda query: True,
) -> int | None:
    """Return the query whose row a figure shows before the user has chosen a token.

    This is [CLS] if the input has it, otherwise the last token of the prompt, otherwise the last
    word of an input with places and words. None means the mean over all queries.

    Args:
        query: Axis of the queries.
        key: Axis of the keys.
        n_prompt: Number of prompt tokens of a generated text; None = no generated text.
        sees_others: Function that returns True if a query sees more than one key. The first token
            of a causal model sees only one key, so its row would show nothing.

    Example:
        >>> from attnwidget.text.tokens import Tokens
        >>> from attnwidget.widgets.shared.places import first_query
        >>> tokens = Tokens.plain(["[CLS]", "cats"])
        >>> first_query(tokens, tokens, None)
        0
    """
    if "cls" in query.special and sees_others(query.special.index("cls")):
        return query.special.index("cls")
    if n_prompt is not None and 0 < n_prompt <= len(query):
        return n_prompt - 1
    if query.places and query.places == key.places:
        pairs = zip(query.places, query.special, strict=True)
        words = [i for i, (place, kind) in enumerate(pairs) if place is None and not kind]
        return words[-1] if words else None
    return None


def media_sizes(media: Media) -> dict[str, Any]:
    """Return the widths and heights of pictures, and the durations of sounds.

    Example:
        >>> import numpy as np
        >>> from attnwidget.text.places import Media
        >>> from attnwidget.widgets.shared.places import media_sizes
        >>> picture = np.zeros((400, 800, 3), np.uint8)
        >>> media_sizes(Media(pictures=(picture,)))
        {'pictures': [{'width': 800, 'height': 400}], 'sounds': []}
    """
    return {
        "pictures": [
            {"width": picture.shape[1], "height": picture.shape[0]} for picture in media.pictures
        ],
        "sounds": [{"seconds": sound.seconds} for sound in media.sounds],
    }


def contents_note(media: Media) -> str:
    """Return a caption note for a page that contains pictures or sounds.

    Example:
        >>> import numpy as np
        >>> from attnwidget.text.places import Media
        >>> from attnwidget.widgets.shared.places import contents_note
        >>> contents_note(Media(pictures=(np.zeros((8, 16, 3), np.uint8),)))
        'contains 1 picture of the input'
    """
    counts = [
        counted(len(items), what)
        for items, what in ((media.pictures, "picture"), (media.sounds, "sound"))
        if items
    ]
    return f"contains {' and '.join(counts)} of the input"


def media_to_wire(media: Media) -> dict[str, Any]:
    """Return pictures as PNG or JPEG files, and sounds as waveforms and WAV files.

    A picture has at most 1,024 pixels per side. A waveform has the largest and the smallest sample
    of at most 2,048 parts, float32 [parts, 2]. A WAV file has 16-bit samples of at most 60 s.

    Example:
        >>> import numpy as np
        >>> from attnwidget.text.places import Media
        >>> from attnwidget.widgets.shared.places import media_to_wire
        >>> wire = media_to_wire(Media(pictures=(np.zeros((8, 16, 3), np.uint8),)))
        >>> wire["pictures"][0]["width"], wire["pictures"][0]["type"]
        (16, 'image/png')
    """
    return {
        "pictures": [_picture(picture) for picture in media.pictures],
        "sounds": [_sound(sound) for sound in media.sounds],
    }


def _at_most(pixels: NDArray[np.uint8], longest: int) -> Image.Image:
    """Return a picture that is scaled down to at most `longest` pixels on its longer side."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    factor = max(picture.size) / longest
    if factor <= 1:
        return picture
    width, height = (max(1, round(side / factor)) for side in picture.size)
    return picture.resize((width, height), Image.Resampling.LANCZOS)


def _picture(pixels: NDArray[np.uint8]) -> dict[str, Any]:
    height, width = pixels.shape[:2]
    picture = _at_most(pixels, LONGEST_SIDE)
    encoded = io.BytesIO()
    picture.save(encoded, "PNG")
    kind = "image/png"
    if encoded.tell() > _LOSSLESS_BYTES:
        encoded = io.BytesIO()
        picture.save(encoded, "JPEG", quality=_JPEG_QUALITY)
        kind = "image/jpeg"
    return {
        "width": width,
        "height": height,
        "across": picture.width,
        "type": kind,
        "file": to_wire(np.frombuffer(encoded.getvalue(), np.uint8)),
    }


def _sound(sound: Sound) -> dict[str, Any]:
    samples = np.asarray(sound.samples, np.float32)
    rate = float(sound.rate)
    starts = np.linspace(0, len(samples), min(_POINTS, len(samples)), endpoint=False).astype(int)
    waveform = np.stack(
        [np.maximum.reduceat(samples, starts), np.minimum.reduceat(samples, starts)], axis=1
    )
    played = samples[: round(MOST_SECONDS * rate)]
    if rate > _MOST_RATE:
        # Averaging neighboring samples removes the highest frequencies, which speech does not need.
        step = int(np.ceil(rate / _MOST_RATE))
        played = played[: len(played) // step * step].reshape(-1, step).mean(axis=1)
        rate /= step
    loudest = float(np.abs(played).max(initial=0))
    file = io.BytesIO()
    with wave.open(file, "wb") as wav_file:
        wav_file.setnchannels(1)
        wav_file.setsampwidth(2)
        wav_file.setframerate(round(rate))
        wav_file.writeframes((played / max(1.0, loudest) * 32767).astype("<i2").tobytes())
    return {
        "seconds": sound.seconds,
        "played": len(played) / rate,
        "waveform": to_wire(waveform),
        "type": "audio/wav",
        "file": to_wire(np.frombuffer(file.getvalue(), np.uint8)),
    }
