"""What a notebook shows of an object: a small table and a small picture, as HTML without scripts.

`objects` says what is shown of which object, `pictures` draws, `places` finds where nodes stand.
Colours are those of the page around: words and lines have its own, and the few others are seen on
a light ground and on a dark one.
"""
