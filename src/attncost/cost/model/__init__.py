"""What a model is made of: what mixes its tokens, what each token passes through, its two ends.

One file for each way to do so, with the same few formulas: FLOPs, numbers learned, numbers kept.
"""
