"""The handwritten digits that all examples learn from.

`digits.npz` holds 1,797 images of 8x8 pixels and the digit that each shows. It is the data set "Optical Recognition of
Handwritten Digits" of the UCI Machine Learning Repository, as scikit-learn ships it.
"""

from pathlib import Path

import numpy as np

HELD_BACK = 297  # images that are never trained on, to see whether the model has learnt or memorised


def load():
    """Returns (images, labels) to train on, and (images, labels) to test with."""
    with np.load(Path(__file__).with_name("digits.npz")) as file:
        images = file["x"].astype("float32") / 16.0  # the pixels are numbers from 0 to 16
        labels = file["y"].astype("int64")
    # The last images are by other writers than the first ones, so shuffle; always in the same way, so that every task
    # of a job holds back the same images.
    order = np.random.RandomState(seed=0).permutation(len(images))
    images, labels = images[order], labels[order]
    return (images[:-HELD_BACK], labels[:-HELD_BACK]), (images[-HELD_BACK:], labels[-HELD_BACK:])
