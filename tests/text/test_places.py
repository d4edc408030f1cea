"""Places of tokens in pictures and sounds."""

import numpy as np
import pytest
from PIL import Image, ImageOps

from attnwidget import Attention
from attnwidget.results import Box, Sound, Span
from attnwidget.text.places import picture_array
from attnwidget.text.tokens import Tokens
from refusals import naming

WEIGHTS = np.full((1, 2, 3, 3), 1 / 3)
PICTURE = np.zeros((8, 16, 3), dtype=np.uint8)
PLACES = [None, Box(0, 0, 0, 8, 8), Box(0, 8, 0, 16, 8)]


def test_places_of_own_weights_are_on_both_axes_of_one_sequence():
    attention = Attention.from_weights(
        WEIGHTS, ["[CLS]", "left", "right"], places=PLACES, images=[PICTURE]
    )
    stack = attention.stacks["self"]
    assert stack.query.places == stack.key.places == tuple(PLACES)
    assert not stack.key.is_line
    assert attention.images[0].shape == (8, 16, 3)
    assert attention.mean().images == attention.images


def test_places_of_cross_attention_are_on_the_keys_alone():
    sound = Sound(np.zeros(100, dtype=np.float32), 100)
    attention = Attention.from_weights(
        WEIGHTS[:, :, :2],
        ["two", "words"],
        key_tokens=["0", "1", "2"],
        stack="cross",
        places=[Span(0, 0, 0.3), Span(0, 0.3, 0.6), None],
        audio=[sound],
    )
    assert attention.stacks["cross"].query.places == ()
    assert attention.stacks["cross"].key.places[1] == Span(0, 0.3, 0.6)
    assert attention.audio[0].seconds == 1


def test_words_of_patches_keep_their_places():
    tokens = Tokens(
        text=("[CLS]", "r0c0", "r0c1"),
        raw=("[CLS]", "r0c0", "r0c1"),
        ids=(),
        special=("cls", "", ""),
        segments=(0, 0, 0),
        words=(None, 0, 1),
        places=tuple(PLACES),
    )
    assert tokens.to_words().places == tuple(PLACES)


@pytest.mark.parametrize(
    ("places", "pictures", "parts"),
    [
        (PLACES[:2], [PICTURE], ("2 places", "3 tokens")),
        (PLACES, [], ("token 1", "picture 0", "0 pictures")),
        ([None, None, Box(0, 16, 0, 20, 8)], [PICTURE], ("16 × 8", "Box")),
        ([None, None, Span(0, 0, 1)], [PICTURE], ("0 sounds",)),
    ],
)
def test_places_that_do_not_fit_are_refused(places, pictures, parts: tuple[str, ...]):
    with pytest.raises(ValueError, match=naming(*parts)):
        Attention.from_weights(WEIGHTS, list("abc"), places=places, images=pictures)


def test_places_need_an_extent():
    with pytest.raises(ValueError, match=naming("left 4", "left < right")):
        Box(0, 4, 0, 4, 8)
    with pytest.raises(ValueError, match=naming("start 1", "start < end")):
        Span(0, 1, 0.5)
    with pytest.raises(ValueError, match=naming("left 0", "finite")):
        Box(0, 0, 0, float("nan"), 8)


def test_pictures_are_read_from_files_arrays_and_pil(tmp_path):
    colors = np.zeros((4, 6, 3), dtype=np.uint8)
    colors[..., 0] = 200
    Image.fromarray(colors).save(tmp_path / "red.png")
    for picture in (tmp_path / "red.png", Image.fromarray(colors), colors, colors / 255.0):
        assert (picture_array(picture) == colors).all()
    assert picture_array(np.ones((4, 6))).tolist() == np.full((4, 6, 3), 255).tolist()


def test_a_file_is_turned_as_its_camera_says(tmp_path):
    picture = Image.new("RGB", (6, 4))
    exif = picture.getexif()
    exif[0x0112] = 6  # turned by a quarter
    picture.save(tmp_path / "turned.jpg", exif=exif)
    assert picture_array(tmp_path / "turned.jpg").shape == (6, 4, 3)
    with Image.open(tmp_path / "turned.jpg") as opened:
        for stored in (opened, opened.convert("RGB")):
            with pytest.raises(ValueError, match=naming("EXIF", "orientation 6", "exif_transpose")):
                picture_array(stored)
        assert picture_array(ImageOps.exif_transpose(opened)).shape == (6, 4, 3)


def test_pictures_of_16_bits_keep_their_shades(tmp_path):
    shades = (np.arange(256).reshape(16, 16) * 257).astype(np.uint16)
    Image.fromarray(shades).save(tmp_path / "deep.png")
    for picture in (tmp_path / "deep.png", Image.fromarray(shades)):
        assert (picture_array(picture)[..., 1] == shades // 257).all()


def test_modes_of_pil_are_read_as_colors():
    colors = np.zeros((4, 6, 3), dtype=np.uint8)
    colors[:2] = (255, 0, 0)
    picture = Image.fromarray(colors)
    for mode in ("RGBA", "P", "CMYK"):
        assert (picture_array(picture.convert(mode)) == colors).all(), mode
    gray = np.asarray(picture.convert("L"))
    for mode in ("L", "LA"):
        assert (picture_array(picture.convert(mode)) == gray[..., None]).all(), mode
    assert (picture_array(gray[..., None]) == gray[..., None]).all()
    assert picture_array(Image.fromarray(gray.astype(np.float32) / 255))[0, 0, 0] == gray[0, 0]


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "notes.png").write_text("no picture")
    with pytest.raises(ValueError, match=naming("notes.png", "cannot")):
        picture_array(tmp_path / "notes.png")
    with pytest.raises(FileNotFoundError):
        picture_array(tmp_path / "missing.png")
    with pytest.raises(ValueError, match=naming("'https://a.b/c.png'", "fetched")):
        picture_array("https://a.b/c.png")


@pytest.mark.parametrize(
    ("picture", "error", "parts"),
    [
        (np.full((4, 6, 3), 2.5), ValueError, ("0 to 1", "numbers")),
        (np.full((4, 6, 3), 200.0), ValueError, ("float64", "200.0")),
        (np.ones((4, 6), dtype=np.int64), ValueError, ("int64", "1 to 1")),
        (np.full((4, 6), 200, dtype=np.uint16), ValueError, ("uint16", "200")),
        (np.zeros((4, 6), dtype=bool), ValueError, ("bool",)),
        (np.array([["red"]]), ValueError, ("colors must be numbers",)),
        (Image.fromarray(np.full((4, 6), 999, dtype=np.int32)), ValueError, ("999",)),
        (np.zeros((3, 4, 6)), ValueError, ("[3, 4, 6]", "last")),
        ([1, 2], TypeError, ("list", "PIL")),
    ],
)
def test_what_is_no_picture_is_refused(picture, error, parts: tuple[str, ...]):
    with pytest.raises(error, match=naming(*parts)):
        picture_array(picture)
