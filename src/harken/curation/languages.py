"""Whether a text is English, from its letters and its commonest words: cheap enough for every line of 447 thousand files.

Short lines are let through, for `Non.` and `Si, señor.` may be said in an English film; and a line must look foreign, not
just lack English words, for names and slang do that too.
"""

from __future__ import annotations

from collections.abc import Sequence

_ENGLISH = frozenset(
    """
    the a an and or but if then that this these those is are was were be been am do does did don have has had will would can
    could should must may might not no yes of to in on at by for from with about into out up down over off it he she we they
    you i me him her us them my your his our their its what who why how when where which there here just now know get got go
    come see want like think good well all some any one so as 's 't 'm 're 'll 've 'd let please thank tell say said than too
    very more never back time man oh okay yeah hey right back because really little make take need look
    """.split()
)
# The commonest words of fourteen languages with the Latin alphabet, less what is also an English word, name or sound.
_FOREIGN = frozenset(
    """
    abbiamo aber acum adesso af agora ahora aici ale alles ama anche aqui aquí att auch auf av avec avez avoir az
    bardzo bem bene bent bien bine bir bist bitte biz bu burada ce ces cette che ci cine comme como con cosa csak cu
    cuando cum czy cómo daha dank danke dann dans dar das dass dat daß de deg dein del della dem der det deze değil di
    dich dig dir dla donde dove dónde ea een egy ei ein eine einen ela ele eles elle en eres es eso est esta este esto
    estou estoy está estás et että eu euch evet ez ești fait foarte fost för für gli goed gracias grazie gut habe
    haben hai har hast hayır heb hebt heeft het hier hij hoe hogy hol hur hva hvad hvem hvor hvorfor hän här ich igen
    ihm ihr ik ikke il inte io isso ist isto itt için ja jag jak jamais je jeg jest jestem jesteś jetzt jij jouw jsem
    jsi jullie już já kan kann kannst kuka kun kyllä le lei les lo lui maar mai mais mam mas masz med meg mein merci
    met meu mich mig mijn miksi minha minä mio mir missä mitä miért mnie moet moi molto mon muito mutta muy myös mám
    már máš mı na naar nada nasıl neden nee nein nem ni nicht nichts nie niente niet niets niin noch nog noi non
    nosotros notre nous nur nyt não nós obrigado och od og olen olet om ona onde oni onlar ons ook oss oui où para pas
    pe perché pero più por porque pour puedo på quando que quello questa questo qui quiero quoi qué rien schon se sehr
    sei sein seu señor siamo sie siete sind sinä siz się som sono sont soy su sua suis sunt suo sur são sí să tack
    tady tak tem tengo tenho tiene til todo todos toi tous tout très tu tudo tuo tutti tutto ty tylko tämä uma una und
    unde une uno uns usted ustedes už vad vem vi você voi volt von voor votre vous waar warum wat wel wenn wer werden
    wie wij wir wird wy yok zij zijn zu är ça çok én és êtes être über ők şimdi że že și
    """.split()
)
_FOREIGN_LETTERS = 0.25
"""Share of letters outside ASCII; English has none, Polish about a tenth, Greek nothing else."""
_SHORT, _LONG = 3, 10
"""Different words below which nothing is judged, and from which on a text without one common English word is foreign."""


def is_foreign(text: str, words: Sequence[str]) -> bool:
    """Whether a text is not English: by its letters, or by more words from elsewhere than common English ones."""
    if not text.isascii():
        letters = [character for character in text if character.isalpha()]
        if sum(character > "\x7f" for character in letters) > _FOREIGN_LETTERS * len(letters):
            return True
    english = sum(map(_ENGLISH.__contains__, words))
    if 4 * english > len(words):  # nearly every line of English ends here
        return False
    different = set(words)
    if len(different) < _SHORT:
        return False
    foreign = sum(word in _FOREIGN or not word.isascii() for word in different)
    return foreign > max(1, english) or (english == 0 and len(different) >= _LONG)
