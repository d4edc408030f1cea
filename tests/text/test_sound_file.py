"""Sounds as users give them."""

import struct

import numpy as np
import pytest
from scipy.io import wavfile

from attnwidget.text.sound_file import sound_of
from refusals import naming

RATE = 8000
TONE = np.sin(np.arange(400) / 5)


def test_samples_of_every_type_are_the_same_sound(tmp_path):
    whole = (TONE * 32767).astype(np.int16)
    wavfile.write(tmp_path / "tone.wav", RATE, whole)
    same = (
        (TONE, RATE),
        (TONE.tolist(), np.int64(RATE)),
        (TONE[:, None].repeat(2, axis=1), float(RATE)),
        (whole, RATE),
        {"array": TONE, "sampling_rate": RATE, "path": None},
        str(tmp_path / "tone.wav"),
    )
    for given in same:
        sound = sound_of(given)
        assert sound.rate == RATE
        assert sound.samples == pytest.approx(TONE, abs=1e-4)


def test_files_of_8_24_and_32_bits_are_the_same_sound(tmp_path):
    wavfile.write(tmp_path / "8.wav", RATE, np.round(TONE * 127.5 + 127.5).astype(np.uint8))
    wavfile.write(tmp_path / "32.wav", RATE, (TONE * (2**31 - 1)).astype(np.int32))
    cut = b"".join(struct.pack("<i", round(n * (2**23 - 1)))[:3] for n in TONE)
    head = struct.pack("<IHHIIHH", 16, 1, 1, RATE, 3 * RATE, 3, 24)
    body = b"WAVEfmt " + head + b"data" + struct.pack("<I", len(cut)) + cut
    (tmp_path / "24.wav").write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    for bits in (8, 24, 32):
        assert sound_of(tmp_path / f"{bits}.wav").samples == pytest.approx(TONE, abs=1 / 64)


def test_the_channels_of_a_sound_are_averaged():
    both = np.stack([TONE, np.zeros_like(TONE)], axis=1)
    assert sound_of((both, RATE)).samples == pytest.approx(TONE / 2, abs=1e-6)


@pytest.mark.parametrize(
    ("sound", "error", "parts"),
    [
        ((TONE * 20000, RATE), ValueError, ("-1", "1", "20,000")),
        (((TONE * 9000).astype(np.int32), RATE), ValueError, ("int16",)),
        (((TONE * 9000).astype(np.int64), RATE), TypeError, ("int64",)),
        ((TONE > 0, RATE), TypeError, ("bool",)),
        ((TONE * 1j, RATE), TypeError, ("complex128",)),
        ((TONE, 16), ValueError, ("16000", "16")),
        ((TONE, 8000.5), ValueError, ("8000.5", "integer")),
        ((RATE, TONE), ValueError, ("ndarray",)),
        (TONE, TypeError, ("sampling rate",)),
    ],
)
def test_what_is_no_sound_is_refused(sound, error, parts: tuple[str, ...]):
    with pytest.raises(error, match=naming(*parts)):
        sound_of(sound)


def test_a_file_of_another_format_is_named(tmp_path):
    (tmp_path / "song.mp3").write_bytes(b"ID3" + bytes(400))
    with pytest.raises(ValueError, match=naming("song.mp3", "WAV", "soundfile")):
        sound_of(tmp_path / "song.mp3")
    with pytest.raises(FileNotFoundError):
        sound_of(tmp_path / "missing.wav")
