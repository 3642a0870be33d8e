"""What the chapters ask their reader: predictions, and the score of them."""

from pagesim.lesson.prediction import Answer, Prediction, predict
from pagesim.lesson.score import Score, score
from pagesim.lesson.source import Drawing, drawing, source

__all__ = ["Answer", "Drawing", "Prediction", "Score", "drawing", "predict", "score", "source"]
