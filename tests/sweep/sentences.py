"""Sentences in five scripts, and the text that small vocabularies are trained on."""

from __future__ import annotations

#: Two sentences each in Latin, Cyrillic, Arabic, Chinese and Japanese, and Devanagari.
SENTENCES = (
    "The captain told his men that he would not leave the ship.",
    "Naïve café owners can't sell 1,250 cakes (or 12.5%)!",
    "Кот, который сидит на коврике, спит.",
    "Привіт, світе! Її звати Олена.",
    "القط جلس على السجادة، والقط نائم.",
    "مرحبا بالعالم الكبير",
    "猫坐在垫子上。猫睡着了。",
    "東京へ 行きました。",
    "नमस्ते दुनिया, आप कैसे हैं?",
    "बिल्ली चटाई पर बैठी है।",
)
#: Letters of all sentences, and few repeated words, so that most words have several tokens.
CORPUS = [*SENTENCES, *("the ship", "told the men", "кот спит", "القط", "猫", "दुनिया") * 3]
