"""What each part of the recipe is good for: train without it, and see.

`variants` says what is left out, `trial` trains one of them at one learning rate, `sensitivity` is
how much a variant minds the learning rate.
"""
