"""What the chapters ask their reader: predictions, and the score of them."""

from pagesim.lesson.prediction import Answer, Prediction, predict
from pagesim.lesson.score import Score, score

__all__ = ["Answer", "Prediction", "Score", "predict", "score"]
